// LeaseService::Restore: what a restarted agent does about leases that outlived it.
//
// Nothing here needs the processes' help: they are in their data path and may make no call for
// hours. Their cgroup says who they are, /proc/PID/map_files has their counters page, the policy
// page lies on tmpfs.
#include <utility>

#include "agent/control/lease_service.h"
#include "agent/lease/usage.h"
#include "common/runtime/log.h"
#include "common/runtime/process.h"

namespace rb::agent {
namespace {

struct Adopted {
  std::string cgroup;
  std::optional<CountersMemory> counters;
  std::vector<ProcessFacts> processes;  // those that have the page mapped
  Error error;                          // why the cgroup is not there
};

Adopted AdoptFromKernel(Kernel kernel, const std::string& lease, const rest::LeaseSpec& spec,
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
  for (const pid_t pid : *pids) {
    auto page = CountersMemory::Adopt(pid, "rdma-broker:" + lease);
    if (!page) continue;
    if (!adopted.counters) adopted.counters.emplace(std::move(*page));
    auto facts = kernel.processes.Read(pid);
    if (facts) adopted.processes.push_back(std::move(*facts));
  }
  return adopted;
}

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
    if (slot.state == static_cast<std::uint32_t>(wire::SlotState::kFree)) continue;
    if (slot.device_index >= grant.devices.size()) continue;
    notes.push_back({.slot = i,
                     .device = grant.devices[slot.device_index],
                     .opener = static_cast<pid_t>(slot.opener_pid),
                     .context = {}});
  }
  return notes;
}

}  // namespace

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
  auto adopt = [kernel = parts_.kernel, id, spec = lease->spec, devices = lease->grant.devices] {
    return AdoptFromKernel(kernel, id, spec, devices);
  };
  Adopted adopted = co_await parts_.pool.Run(std::move(adopt));
  lease = parts_.leases.Find(id);
  lease->cgroup = adopted.cgroup;
  lease->denials_seen = lease->settled.denials;  // what was reported before; later ones come now

  auto counters = adopted.counters ? Result<CountersMemory>(std::move(*adopted.counters))
                                   : SeedCounters(*lease);
  auto policy = PolicyFile::Open(parts_.page_directory + "/" + id + ".policy");
  if (adopted.cgroup.empty() || !counters || !policy) {
    const std::string cause = !counters ? counters.error().message
                              : !policy ? policy.error().message
                                        : adopted.error.message;
    RB_LOG_ERROR("lease {}: cannot be restored: {}", id, cause);
    lease->conditions.push_back(
        {.type = "not_restored", .message = cause, .since = FormatTimestamp(parts_.clock.Wall())});
    co_return;
  }
  lease->settled = {};
  lease->counters.emplace(std::move(*counters));
  lease->policy = std::move(*policy);
  lease->slots = NotesOf(*lease->counters->page(), lease->grant);

  for (const ProcessFacts& facts : adopted.processes) {
    auto pidfd = OpenPidfd(facts.pid);
    if (!pidfd) continue;
    Attachment attachment{.pid = facts.pid,
                          .start_time_ticks = facts.start_time_ticks,
                          .uid = facts.uid,
                          .command = facts.command,
                          .lease = id,
                          .attached_at = FormatTimestamp(parts_.clock.Wall())};
    parts_.attachments.Add(std::move(attachment), std::move(*pidfd));
  }
  AddEvent(*lease, "lease_restored",
           std::to_string(adopted.processes.size()) + " processes taken up again");
  if (lease->phase == rest::Phase::kDraining) {
    lease->ending = true;
    parts_.loop.Spawn(End(id, rest::Phase::kRevoked, std::chrono::milliseconds(0)));
    co_return;
  }
  // A change that was durable but not yet applied when the old agent died is applied now.
  if (auto written = WritePolicy(lease, wire::PolicyState::kActive); !written) {
    RB_LOG_ERROR("lease {}: {}", id, written.error().message);
  }
  co_await parts_.settler.Settle(id);
}

}  // namespace rb::agent
