// LeaseService::Restore: what a restarted agent does about leases that outlived it.
//
// Nothing here needs the processes' help: they are in their data path and may make no call for
// hours. Their cgroup says who they are, /proc/PID/map_files has their counters page, the policy
// page lies on tmpfs.
#include <chrono>
#include <utility>

#include "agent/control/lease_service.h"
#include "agent/lease/usage.h"
#include "common/runtime/log.h"
#include "common/runtime/process.h"

namespace rb::agent {
namespace {

// For the mappings of all processes of a lease. Nobody is served before all leases are restored,
// and a hostile one can have tens of thousands of mappings in each of thousands.
constexpr std::chrono::seconds kAdoptTime{5};

// A process that has the lease's page mapped.
struct Holder {
  ProcessFacts facts;
  UniqueFd pidfd;
};

// A page of our own that starts with what was counted before.
Result<CountersMemory> SeedCounters(const LeaseRecord& lease) {
  RB_TRY(CountersMemory memory, CountersMemory::Create("rdma-broker:" + lease.id()));
  wire::CounterSlot& retired = memory.page()->retired[0];
  for (std::size_t i = 0; i < wire::kLimitCount; ++i) {
    retired.denials[i] = lease.settled.denials[i];
  }
  for (std::size_t i = 0; i < wire::kOpCount; ++i) {
    const auto op = lease.settled.ops.find(wire::kOpNames[i]);
    if (op == lease.settled.ops.end()) continue;
    retired.ops[i] = {.messages = op->second.messages, .bytes = op->second.bytes};
  }
  retired.throttled_ns = lease.settled.throttled_ns;
  return memory;
}

// The page is the tenant's to scribble on: only slots that make sense become notes.
std::vector<SlotNote> NotesOf(const wire::CountersPage& page, const Grant& grant) {
  std::vector<SlotNote> notes;
  for (std::uint32_t i = 0; i < wire::kSlotsMax; ++i) {
    const wire::CounterSlot& slot = page.slots[i];
    if (wire::Load(slot.state) == static_cast<std::uint32_t>(wire::SlotState::kFree)) continue;
    // Read once: the tenant may change it between the check and the use.
    const std::uint32_t device = wire::Load(slot.device_index);
    if (device >= grant.devices.size()) continue;
    notes.push_back({.slot = i,
                     .device = grant.devices[device],
                     .opener = static_cast<pid_t>(wire::Load(slot.opener_pid)),
                     .restored = true});
  }
  return notes;
}

}  // namespace

struct LeaseService::Adopted {
  std::string cgroup;
  std::optional<CountersMemory> counters;
  std::vector<Holder> holders;
  Error error;  // why the cgroup is not there

  // Blocks. `devices` are those whose limits are set again.
  static Adopted FromKernel(Kernel kernel, const std::string& lease, const rest::LeaseSpec& spec,
                            const std::vector<std::string>& devices);

 private:
  void AddHolder(Kernel kernel, const std::string& lease, pid_t pid);
};

LeaseService::Adopted LeaseService::Adopted::FromKernel(Kernel kernel, const std::string& lease,
                                                        const rest::LeaseSpec& spec,
                                                        const std::vector<std::string>& devices) {
  Adopted adopted;
  auto path = spec.workload.cgroup.empty() ? kernel.cgroups.Create(lease)
                                           : Result<std::string>(spec.workload.cgroup);
  if (!path) {
    adopted.error = path.error();
    return adopted;
  }
  adopted.cgroup = *path;
  for (const std::string& device : devices) {
    (void)kernel.cgroups.SetRdmaMax(
        *path, device, {.hca_handles = spec.limits[wire::Limit::kContexts], .hca_objects = {}});
  }
  const auto pids = kernel.cgroups.Processes(*path);
  if (!pids) return adopted;
  const auto deadline = std::chrono::steady_clock::now() + kAdoptTime;
  for (const pid_t pid : *pids) {
    if (std::chrono::steady_clock::now() >= deadline) break;
    adopted.AddHolder(kernel, lease, pid);
  }
  return adopted;
}

void LeaseService::Adopted::AddHolder(Kernel kernel, const std::string& lease, pid_t pid) {
  auto pidfd = OpenPidfd(pid);  // first: what is read below is then its process, or it has exited
  if (!pidfd) return;
  auto page = CountersMemory::Adopt(pid, "rdma-broker:" + lease);
  if (!page) return;
  if (!counters) counters.emplace(std::move(*page));
  auto facts = kernel.processes.Read(pid);
  if (facts) holders.push_back({.facts = std::move(*facts), .pidfd = std::move(*pidfd)});
}

Task<void> LeaseService::Restore(bool same_boot) {
  std::vector<std::string> live;
  for (const LeaseRecord* lease : parts_.leases.Live()) live.push_back(lease->id());
  for (const std::string& id : live) {
    if (same_boot) {
      co_await RestoreLease(id);
      continue;
    }
    LeaseRecord* lease = parts_.leases.Find(id);
    lease->phase = rest::Phase::kFailed;
    lease->metadata.revision = parts_.leases.NextRevision();
    AddEvent(*lease, "lease_failed", "the node was booted anew: its processes are gone");
  }
  if (auto saved = co_await parts_.persistence.Save(); !saved) {
    RB_LOG_ERROR("checkpoint: {}", saved.error().message);
  }
}

Task<void> LeaseService::RestoreLease(std::string id) {
  LeaseRecord* lease = parts_.leases.Find(id);
  // It was durable, so its maker may have been told: the rest of it is made here.
  if (lease->phase == rest::Phase::kPending) lease->phase = rest::Phase::kActive;
  const bool is_active = lease->phase == rest::Phase::kActive;
  lease->conditions.clear();  // they told of the old agent's attempts
  // The limits of a lease that is being revoked are zero and stay so.
  const std::vector<std::string> devices =
      is_active ? lease->grant.devices : std::vector<std::string>{};
  auto adopt = [kernel = parts_.kernel, id, spec = lease->spec, devices] {
    return Adopted::FromKernel(kernel, id, spec, devices);
  };
  Adopted adopted = co_await parts_.pool.Run(std::move(adopt));
  lease = parts_.leases.Find(id);

  const auto whole = TakeUp(lease, std::move(adopted));
  if (!whole) {
    RB_LOG_ERROR("lease {}: cannot be restored: {}", id, whole.error().message);
    lease->conditions.push_back({.type = "not_restored",
                                 .message = whole.error().message,
                                 .since = FormatTimestamp(parts_.clock.Wall())});
  }
  if (!is_active) {
    lease->ending = true;
    parts_.loop.Spawn(End(id, rest::Phase::kRevoked, std::chrono::milliseconds(0)));
    co_return;
  }
  if (!whole) co_return;
  // A change that was durable but not yet applied when the old agent died is applied now.
  if (auto written = WritePolicy(lease, wire::PolicyState::kActive); !written) {
    RB_LOG_ERROR("lease {}: {}", id, written.error().message);
  }
  co_await parts_.settler.Settle(id);
}

// Puts the lease's cgroup, pages and processes back into its record.
Result<void> LeaseService::TakeUp(LeaseRecord* lease, Adopted adopted) {
  lease->cgroup = adopted.cgroup;
  lease->denials_seen = lease->settled.denials;  // what was reported before; later ones come now
  if (adopted.cgroup.empty()) return tl::unexpected<Error>(std::move(adopted.error));
  RB_TRY(PolicyFile policy,
         PolicyFile::Open(parts_.page_directory + "/" + lease->id() + ".policy"));
  auto counters = adopted.counters ? Result<CountersMemory>(std::move(*adopted.counters))
                                   : SeedCounters(*lease);
  if (!counters) return tl::unexpected(counters.error());
  lease->policy = std::move(policy);
  lease->counters.emplace(std::move(*counters));
  lease->settled = {};
  lease->slots = NotesOf(*lease->counters->page(), lease->grant);

  for (Holder& holder : adopted.holders) {
    Attachment attachment{.pid = holder.facts.pid,
                          .start_time_ticks = holder.facts.start_time_ticks,
                          .uid = holder.facts.uid,
                          .command = holder.facts.command,
                          .lease = lease->id(),
                          .attached_at = FormatTimestamp(parts_.clock.Wall())};
    parts_.attachments.Add(std::move(attachment), std::move(holder.pidfd));
  }
  AddEvent(*lease, "lease_restored",
           std::to_string(adopted.holders.size()) + " processes taken up again");
  return {};
}

}  // namespace rb::agent
