#include "agent/lease/settle.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace rb::agent {
namespace {

using ContextKey = std::pair<std::string, std::uint32_t>;
using GroupKey = std::pair<std::string, pid_t>;

GroupKey GroupOf(const SlotNote& note) { return {note.device, note.opener}; }
bool IsGrouped(const SlotNote& note) { return note.restored && !note.context; }

std::set<ContextKey> Claimed(const std::vector<SlotNote>& notes) {
  std::set<ContextKey> claimed;
  for (const SlotNote& note : notes) {
    if (note.context) claimed.insert({note.device, *note.context});
    for (const std::uint32_t context : note.candidates) claimed.insert({note.device, context});
  }
  return claimed;
}

// Contexts with a creator that no slot has or may have, by number.
std::vector<KernelContext> FreshContexts(const std::vector<SlotNote>& notes,
                                         const SettleView& view) {
  const std::set<ContextKey> claimed = Claimed(notes);
  std::vector<KernelContext> fresh;
  for (const KernelContext& context : view.contexts) {
    if (context.creator && !claimed.contains({context.device, context.number})) {
      fresh.push_back(context);
    }
  }
  std::ranges::sort(fresh, {}, &KernelContext::number);
  return fresh;
}

bool MadeBy(const KernelContext& context, const SlotNote& note) {
  return context.device == note.device && context.creator == note.opener;
}

void LearnContexts(std::vector<SlotNote>* notes, const SettleView& view) {
  std::vector<KernelContext> fresh = FreshContexts(*notes, view);
  const auto learn = [&fresh](SlotNote& note) {
    const auto match = std::ranges::find_if(
        fresh, [&note](const KernelContext& context) { return MadeBy(context, note); });
    if (match == fresh.end()) return;
    note.context = match->number;
    fresh.erase(match);
  };
  // A program that opens, closes and opens again between two looks leaves a closed slot and one
  // context: the context is the second slot's. The closed ones still get what is left over, because
  // "closed" is only the tenant's word.
  for (const bool closed : {false, true}) {
    for (SlotNote& note : *notes) {
      if (note.restored || note.context) continue;
      if (view.closed_slots.contains(note.slot) == closed) learn(note);
    }
  }
  for (SlotNote& note : *notes) {
    if (!IsGrouped(note)) continue;
    for (const KernelContext& context : fresh) {
      if (MadeBy(context, note)) note.candidates.insert(context.number);
    }
  }
}

// What the plan is made with.
struct Judge {
  const SettleView& view;
  std::set<ContextKey> alive;
  std::map<std::string, std::size_t> known;  // living contexts of the lease's slots, by device
  std::map<GroupKey, std::size_t> surplus;   // closed slots of the group that are over

  Judge(const SettleView& seen, std::vector<SlotNote>* notes);
  bool IsOver(const SlotNote& note);
};

Judge::Judge(const SettleView& seen, std::vector<SlotNote>* notes) : view(seen) {
  const std::set<ContextKey> claimed = Claimed(*notes);
  for (const KernelContext& context : view.contexts) {
    const ContextKey key{context.device, context.number};
    if (alive.insert(key).second && claimed.contains(key)) ++known[context.device];
  }
  std::map<GroupKey, std::size_t> sizes;
  for (SlotNote& note : *notes) {
    if (!IsGrouped(note)) continue;
    std::erase_if(note.candidates,
                  [&](std::uint32_t context) { return !alive.contains({note.device, context}); });
    ++sizes[GroupOf(note)];
  }
  for (const SlotNote& note : *notes) {
    if (!IsGrouped(note)) continue;
    const std::size_t size = sizes[GroupOf(note)];
    surplus[GroupOf(note)] = size - std::min(size, note.candidates.size());
  }
}

bool Judge::IsOver(const SlotNote& note) {
  if (note.context) return !alive.contains({note.device, *note.context});
  if (view.closed_slots.contains(note.slot)) {
    if (!IsGrouped(note)) return true;
    std::size_t& left = surplus[GroupOf(note)];
    if (left == 0) return false;
    --left;
    return true;
  }
  if (view.alive.contains(note.opener) || !note.candidates.empty()) return false;
  return view.devices_held_open.count(note.device) <= known[note.device];
}

// A group of one slot and one context is known.
void ResolveGroups(std::vector<SlotNote>* notes) {
  std::map<GroupKey, std::size_t> sizes;
  for (const SlotNote& note : *notes) sizes[GroupOf(note)] += IsGrouped(note) ? 1 : 0;
  for (SlotNote& note : *notes) {
    if (!IsGrouped(note) || sizes[GroupOf(note)] != 1 || note.candidates.size() != 1) continue;
    note.context = *note.candidates.begin();
    note.candidates.clear();
  }
}

}  // namespace

SettlePlan PlanSettle(std::vector<SlotNote> notes, const SettleView& view) {
  LearnContexts(&notes, view);
  Judge judge(view, &notes);
  SettlePlan plan;
  for (SlotNote& note : notes) {
    if (judge.IsOver(note)) {
      plan.over.push_back(note.slot);
    } else {
      plan.open.push_back(std::move(note));
    }
  }
  ResolveGroups(&plan.open);
  return plan;
}

void RetireSlot(wire::CountersPage* page, std::uint32_t index) {
  wire::CounterSlot& slot = page->slots[index];
  // The index is the tenant's to scribble on.
  const std::uint32_t device = wire::Load(slot.device_index);
  wire::CounterSlot& retired = page->retired[device < wire::kLeaseDevicesMax ? device : 0];
  wire::ReturnCharges(page, &slot);
  const auto move = [](std::uint64_t* from, std::uint64_t* to) {
    wire::Add(to, wire::Exchange<std::uint64_t>(from, 0));
  };
  for (std::size_t i = 0; i < wire::kLimitCount; ++i) move(&slot.denials[i], &retired.denials[i]);
  for (std::size_t i = 0; i < wire::kOpCount; ++i) {
    move(&slot.ops[i].messages, &retired.ops[i].messages);
    move(&slot.ops[i].bytes, &retired.ops[i].bytes);
  }
  move(&slot.throttled_ns, &retired.throttled_ns);
  move(&slot.throttled_posts, &retired.throttled_posts);
  move(&slot.class_rewrites, &retired.class_rewrites);
  wire::Store<std::uint32_t>(&slot.holders, 0);
  wire::StoreRelease(&slot.state, static_cast<std::uint32_t>(wire::SlotState::kFree));
}

}  // namespace rb::agent
