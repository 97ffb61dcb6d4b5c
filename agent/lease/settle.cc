#include "agent/lease/settle.h"

#include <algorithm>
#include <set>
#include <utility>

namespace rb::agent {
namespace {

using ContextKey = std::pair<std::string, std::uint32_t>;

void LearnContexts(std::vector<SlotNote>* notes, const SettleView& view) {
  std::set<ContextKey> known;
  for (const SlotNote& note : *notes) {
    if (note.context) known.insert({note.device, *note.context});
  }
  std::vector<KernelContext> fresh;
  for (const KernelContext& context : view.contexts) {
    if (context.creator && !known.contains({context.device, context.number})) {
      fresh.push_back(context);
    }
  }
  std::ranges::sort(fresh, {}, &KernelContext::number);
  const auto learn = [&fresh](SlotNote& note) {
    const auto match = std::ranges::find_if(fresh, [&note](const KernelContext& context) {
      return context.device == note.device && context.creator == note.opener;
    });
    if (match == fresh.end()) return;
    note.context = match->number;
    fresh.erase(match);
  };
  // A program that opens, closes and opens again between two looks leaves a closed slot and one
  // context: the context is the second slot's. The closed ones still get what is left over, because
  // "closed" is only the tenant's word.
  for (const bool closed : {false, true}) {
    for (SlotNote& note : *notes) {
      if (!note.context && view.closed_slots.contains(note.slot) == closed) learn(note);
    }
  }
}

bool IsOver(const SlotNote& note, const SettleView& view, const std::set<ContextKey>& alive) {
  if (note.context) return !alive.contains({note.device, *note.context});
  if (view.closed_slots.contains(note.slot)) return true;
  return !view.alive.contains(note.opener) && !view.devices_held_open.contains(note.device);
}

}  // namespace

SettlePlan PlanSettle(std::vector<SlotNote> notes, const SettleView& view) {
  LearnContexts(&notes, view);
  std::set<ContextKey> alive;
  for (const KernelContext& context : view.contexts) alive.insert({context.device, context.number});
  SettlePlan plan;
  for (SlotNote& note : notes) {
    if (IsOver(note, view, alive)) {
      plan.over.push_back(note.slot);
    } else {
      plan.open.push_back(std::move(note));
    }
  }
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
