#include "agent/control/settler.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "agent/lease/usage.h"

namespace rb::agent {
namespace {

// For the descriptors of all processes of a lease: a hostile one can have a million in each of
// thousands.
constexpr std::chrono::seconds kLookTime{5};

struct Look {
  std::string cgroup;
  std::vector<RevokeDevice> devices;
};

// False when the kernel did not say.
bool AddContexts(Kernel kernel, const std::string& device, SettleView* view) {
  const auto rows = kernel.resources.Contexts(device);
  if (!rows) {
    // Unplugged: it has no contexts. A kernel that lists none never taught us one either.
    return rows.error().code == ErrorCode::kNotFound ||
           rows.error().code == ErrorCode::kUnsupported;
  }
  for (const rdma::ContextRow& row : *rows) {
    KernelContext context{.device = device, .number = row.ctxn, .creator = {}};
    if (row.creator.pid) context.creator = *row.creator.pid;
    view->contexts.push_back(std::move(context));
  }
  return true;
}

// False when there is too much to look at.
bool AddHeldDevices(Kernel kernel, const Look& look, SettleView* view) {
  const auto deadline = std::chrono::steady_clock::now() + kLookTime;
  std::vector<DeviceNumber> numbers;
  for (const RevokeDevice& device : look.devices) numbers.push_back(device.number);
  for (const pid_t pid : view->alive) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    const auto files = kernel.files.Find(pid, numbers);
    if (!files) continue;
    for (const OpenFile& file : *files) {
      for (const RevokeDevice& device : look.devices) {
        if (device.number == file.device) view->devices_held_open.insert(device.name);
      }
    }
  }
  return true;
}

// Nothing when a look failed: what was not seen would be taken for gone, and given back while the
// process still holds it. The next look comes soon.
std::optional<SettleView> LookAtKernel(Kernel kernel, const Look& look) {
  SettleView view;
  const auto pids = kernel.cgroups.Processes(look.cgroup);
  if (!pids && pids.error().code != ErrorCode::kNotFound) return std::nullopt;
  if (pids) view.alive.insert(pids->begin(), pids->end());
  if (!AddHeldDevices(kernel, look, &view)) return std::nullopt;
  // Contexts last: one that appears between the two looks is seen, not taken for gone.
  for (const RevokeDevice& device : look.devices) {
    if (!AddContexts(kernel, device.name, &view)) return std::nullopt;
  }
  return view;
}

void ApplyPlan(const SettlePlan& plan, LeaseRecord* lease) {
  std::vector<SlotNote> kept;
  for (SlotNote& note : lease->slots) {
    if (std::ranges::find(plan.over, note.slot) != plan.over.end()) {
      RetireSlot(lease->counters->page(), note.slot);
      continue;
    }
    const auto learnt = std::ranges::find(plan.open, note.slot, &SlotNote::slot);
    kept.push_back(learnt != plan.open.end() ? *learnt : std::move(note));
  }
  lease->slots = std::move(kept);
}

}  // namespace

Task<void> Settler::Settle(std::string id) {
  LeaseRecord* lease = leases_.Find(id);
  if (lease == nullptr || !lease->counters || lease->slots.empty()) co_return;
  if (!settling_.insert(id).second) co_return;

  const std::vector<SlotNote> notes = lease->slots;
  const Look look{.cgroup = lease->cgroup, .devices = node_.DevicesOf(lease->grant.devices)};
  auto see = [kernel = kernel_, look] { return LookAtKernel(kernel, look); };
  std::optional<SettleView> view = co_await pool_.Run(std::move(see));

  settling_.erase(id);
  settled_.NotifyAll();
  lease = leases_.Find(id);
  if (lease == nullptr || !lease->counters || !view) co_return;  // ended meanwhile, or not seen
  for (const SlotNote& note : notes) {
    const auto state = wire::LoadAcquire(lease->counters->page()->slots[note.slot].state);
    if (state == static_cast<std::uint32_t>(wire::SlotState::kClosed)) {
      view->closed_slots.insert(note.slot);
    }
  }
  ApplyPlan(PlanSettle(notes, *view), lease);
}

Task<void> Settler::WaitForOther(std::string id) {
  while (settling_.contains(id)) co_await settled_.Wait();
}

void Settler::ReportDenials() {
  for (LeaseRecord* lease : leases_.Live()) ReportDenials(*lease);
}

void Settler::ReportDenials(LeaseRecord& lease) {
  if (!lease.counters) return;
  for (const Denial& denial : NewDenials(*lease.counters->page(), &lease.denials_seen)) {
    const wire::LimitRow& row = wire::Row(denial.limit);
    const std::uint64_t allowed = lease.spec.limits[denial.limit];
    denials_.Increment({{"tenant", lease.spec.tenant}, {"limit", row.name}},
                       static_cast<double>(denial.count));
    rest::Event event;
    event.type = "denied";
    event.reason = std::string("limit_") + row.name;
    event.lease = lease.id();
    event.tenant = lease.spec.tenant;
    event.message = std::string(row.title) + ": used " + std::to_string(denial.used) + ", asked " +
                    std::to_string(denial.asked) + " more, allowed " + std::to_string(allowed);
    event.details = {{"limit", row.name},
                     {"used", std::to_string(denial.used)},
                     {"asked", std::to_string(denial.asked)},
                     {"allowed", std::to_string(allowed)},
                     {"pid", std::to_string(denial.pid)},
                     {"count", std::to_string(denial.count)}};
    events_.Add(std::move(event));
  }
}

void Settler::CountRefusal(LeaseRecord& lease, wire::Limit limit, std::uint64_t used, pid_t pid) {
  wire::CountersPage* page = lease.counters->page();
  const std::size_t index = wire::Index(limit);
  wire::Store<std::uint64_t>(&page->last_refusal[index].used, used);
  wire::Store<std::uint64_t>(&page->last_refusal[index].asked, 1);
  wire::Store<std::uint64_t>(&page->last_refusal[index].pid, static_cast<std::uint64_t>(pid));
  wire::Add<std::uint64_t>(&page->retired[0].denials[index], 1);
}

}  // namespace rb::agent
