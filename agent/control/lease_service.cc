#include "agent/control/lease_service.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "agent/lease/admission.h"
#include "agent/lease/policy.h"
#include "agent/lease/usage.h"
#include "common/base/random.h"
#include "common/runtime/digest.h"
#include "common/runtime/log.h"
#include "common/runtime/timer.h"

namespace rb::agent {
namespace {

constexpr std::size_t kLeaseIdRandomBytes = 8;
constexpr std::size_t kTokenRandomBytes = 32;
constexpr std::chrono::seconds kRetryRevoke{1};
constexpr std::string_view kIrrevocable = "irrevocable";

BootTime After(BootTime now, std::uint64_t seconds) {
  return now + std::chrono::seconds(static_cast<std::int64_t>(seconds));
}

std::string_view EventOf(rest::Phase phase) {
  switch (phase) {
    case rest::Phase::kReleased:
      return "lease_released";
    case rest::Phase::kExpired:
      return "lease_expired";
    case rest::Phase::kFailed:
      return "lease_failed";
    default:
      return "lease_revoked";
  }
}

std::string Describe(const RevokeReport& report) {
  std::string text = std::to_string(report.qps_stopped) + " queue pairs stopped, " +
                     std::to_string(report.objects_destroyed) + " objects destroyed";
  if (report.killed) text += ", processes killed";
  if (!report.detail.empty()) text += "; " + report.detail;
  return text;
}

bool IsIrrevocable(const LeaseRecord& lease) {
  return std::ranges::find(lease.conditions, kIrrevocable, &rest::Condition::type) !=
         lease.conditions.end();
}

// The whole content of rdma.max for a lease that may run.
void SetKernelLimits(Kernel kernel, const std::string& cgroup,
                     const std::vector<std::string>& devices, std::uint64_t contexts) {
  for (const std::string& device : devices) {
    // Where there is no controller the level of `contexts` says "shim"; nothing to do then.
    (void)kernel.cgroups.SetRdmaMax(cgroup, device, {.hca_handles = contexts, .hca_objects = {}});
  }
}

// Processes that stay after the lease may hold nothing. Where none is, no limits stay either: with
// them the cgroup must not be removed by its owner (see LinuxLeaseCgroups::Remove).
void SetLimitsWithoutLease(Kernel kernel, const std::string& cgroup,
                           const std::vector<std::string>& devices) {
  const auto pids = kernel.cgroups.Processes(cgroup);
  const bool is_empty = pids && pids->empty();
  const RdmaMax max = is_empty ? RdmaMax{} : RdmaMax{.hca_handles = 0, .hca_objects = 0};
  for (const std::string& device : devices) (void)kernel.cgroups.SetRdmaMax(cgroup, device, max);
}

}  // namespace

void LeaseService::AddEvent(const LeaseRecord& lease, std::string type, std::string message) {
  rest::Event event;
  event.type = std::move(type);
  event.lease = lease.id();
  event.tenant = lease.spec.tenant;
  event.message = std::move(message);
  parts_.events.Add(std::move(event));
}

Result<void> LeaseService::WritePolicy(LeaseRecord* lease, wire::PolicyState state) {
  if (!lease->policy) return {};
  return lease->policy->Write(BuildPolicy(lease->spec, lease->grant, state));
}

// Everything of a new lease that does not block. Returns its token ("" when it has none).
Result<std::string> LeaseService::Prepare(LeaseRecord* record) {
  record->metadata.name = "lease-" + RandomHex(kLeaseIdRandomBytes);
  record->metadata.revision = parts_.leases.NextRevision();
  record->metadata.created_at = FormatTimestamp(parts_.clock.Wall());
  record->expires_at = After(parts_.clock.Boot(), record->spec.ttl_seconds);
  std::string token;
  if (record->spec.workload.token) {
    token = "rbl_" + RandomHex(kTokenRandomBytes);
    record->token_hash = Sha256Hex(token);
  }
  RB_TRY(PolicyFile policy,
         PolicyFile::Open(parts_.page_directory + "/" + record->id() + ".policy"));
  record->policy = std::move(policy);
  RB_TRY(CountersMemory counters, CountersMemory::Create("rdma-broker:" + record->id()));
  record->counters.emplace(std::move(counters));
  RB_TRY_VOID(WritePolicy(record, wire::PolicyState::kActive));
  return token;
}

// The lease's cgroup and its limits.
Task<Result<void>> LeaseService::MakeKernelSide(std::string id) {
  LeaseRecord* lease = parts_.leases.Find(id);
  if (lease == nullptr) co_return Fail(ErrorCode::kNotFound, "lease " + id);
  auto make = [kernel = parts_.kernel, id, cgroup = lease->spec.workload.cgroup,
               devices = lease->grant.devices,
               contexts = lease->spec.limits[wire::Limit::kContexts]]() -> Result<std::string> {
    std::string path = cgroup;
    if (path.empty()) {
      RB_TRY(path, kernel.cgroups.Create(id));
    } else {
      RB_TRY_VOID(kernel.cgroups.Processes(path));  // it must exist
    }
    SetKernelLimits(kernel, path, devices, contexts);
    return path;
  };
  auto path = co_await parts_.pool.Run(std::move(make));
  if (!path) co_return tl::unexpected(path.error());
  lease = parts_.leases.Find(id);
  if (lease == nullptr) co_return Fail(ErrorCode::kNotFound, "lease " + id);
  lease->cgroup = *path;
  co_return Result<void>{};
}

Task<Result<CreatedLease>> LeaseService::Create(rest::LeaseRequest request) {
  if (parts_.leases.live_count() >= kLiveLeasesMax) {
    co_return Fail(
        ErrorCode::kExhausted,
        "leases: this node holds " + std::to_string(kLiveLeasesMax) + ", its most; revoke some",
        "leases_max");
  }
  LeaseRecord record;
  record.metadata.labels = std::move(request.labels);
  record.spec = std::move(request.spec);
  RB_CO_TRY(record.grant, Admit(record.spec, parts_.node.Facts(), parts_.leases.Neighbours()));
  auto token = Prepare(&record);
  if (!token) {
    if (record.policy) record.policy->Remove();
    co_return tl::unexpected(token.error());
  }
  const std::string id = record.id();
  parts_.leases.Insert(std::move(record));

  // Pending until it is durable: no process may get what the disk could still refuse.
  auto made = co_await MakeKernelSide(id);
  if (made) made = co_await parts_.persistence.Save();
  if (!made) {
    co_await Abandon(id);
    co_return tl::unexpected(made.error());
  }
  LeaseRecord* lease = parts_.leases.Find(id);  // nobody but Abandon() ends a pending lease
  lease->phase = rest::Phase::kActive;
  AddEvent(*lease, "lease_created", "lease for tenant " + lease->spec.tenant);
  changed_.NotifyAll();
  CreatedLease created{.id = id, .token = std::move(*token)};
  co_return created;
}

// Undoes a creation that could not be finished: nobody holds anything of the lease.
Task<void> LeaseService::Abandon(std::string id) {
  const LeaseRecord* lease = parts_.leases.Find(id);
  const std::string cgroup = lease->cgroup;
  const bool is_own = lease->spec.workload.cgroup.empty();
  const std::vector<std::string> devices = lease->grant.devices;
  if (lease->policy) lease->policy->Remove();
  parts_.leases.Erase(id);
  changed_.NotifyAll();
  co_await LeaveCgroup(cgroup, is_own, devices);
  // Somebody else's write may have taken the lease to the disk meanwhile. A failure is no news.
  (void)co_await parts_.persistence.Save();
}

Result<LeaseRecord*> LeaseService::FindChangeable(const std::string& id) {
  LeaseRecord* lease = parts_.leases.Find(id);
  if (lease == nullptr) return Fail(ErrorCode::kNotFound, "lease " + id);
  if (!lease->accepts_processes()) {
    return Fail(ErrorCode::kConflict,
                "lease " + id + ": " + std::string(Name(lease->phase)) + ", not active",
                "not_active");
  }
  return lease;
}

// Waits for the change before. A change built on one whose write fails would make that one true.
Task<Result<void>> LeaseService::BeginChange(std::string id) {
  while (true) {
    RB_CO_TRY_VOID(FindChangeable(id));
    if (changing_.insert(id).second) co_return Result<void>{};
    co_await changed_.Wait();
  }
}

void LeaseService::EndChange(const std::string& id) {
  changing_.erase(id);
  changed_.NotifyAll();
}

Task<Result<void>> LeaseService::Patch(std::string id, std::optional<std::uint64_t> revision,
                                       std::string patch) {
  RB_CO_TRY_VOID(co_await BeginChange(id));
  auto changed = co_await ChangeSpec(id, revision, std::move(patch));
  EndChange(id);
  co_return changed;
}

Task<Result<void>> LeaseService::ChangeSpec(std::string id, std::optional<std::uint64_t> revision,
                                            std::string patch) {
  RB_CO_TRY(LeaseRecord * lease, FindChangeable(id));
  const std::uint64_t revision_before = lease->metadata.revision;
  if (revision && *revision != revision_before) {
    co_return Fail(ErrorCode::kStale, "lease " + id + ": revision is " +
                                          std::to_string(revision_before) + ", not " +
                                          std::to_string(*revision));
  }
  const rest::LeaseRequest before{.labels = lease->metadata.labels, .spec = lease->spec};
  RB_CO_TRY(rest::LeaseRequest after, rest::ApplyLeasePatch(before, patch));
  RB_CO_TRY(Grant grant, AdmitChange(before.spec, after.spec, lease->grant.devices,
                                     parts_.node.Facts(), parts_.leases.Neighbours(id)));
  const Grant grant_before = std::exchange(lease->grant, std::move(grant));
  lease->metadata.labels = after.labels;
  lease->spec = after.spec;
  const std::uint64_t mine = lease->metadata.revision = parts_.leases.NextRevision();

  auto saved = co_await parts_.persistence.Save();
  lease = parts_.leases.Find(id);  // End() waits for this change, so the lease is live
  if (!saved) {
    lease->spec = before.spec;
    lease->metadata.labels = before.labels;
    lease->grant = grant_before;
    if (lease->metadata.revision == mine) lease->metadata.revision = revision_before;
    co_return tl::unexpected(saved.error());
  }
  AddEvent(*lease, "lease_changed", "revision " + std::to_string(mine));
  if (lease->ending) co_return Result<void>{};  // a revoke came meanwhile: its policy stands
  RB_CO_TRY_VOID(WritePolicy(lease, wire::PolicyState::kActive));
  auto limit = [kernel = parts_.kernel, cgroup = lease->cgroup, devices = lease->grant.devices,
                contexts = lease->spec.limits[wire::Limit::kContexts]] {
    SetKernelLimits(kernel, cgroup, devices, contexts);
  };
  co_await parts_.pool.Run(std::move(limit));
  co_return Result<void>{};
}

Task<Result<void>> LeaseService::Renew(std::string id, std::uint64_t ttl_seconds) {
  RB_CO_TRY_VOID(co_await BeginChange(id));
  auto changed = co_await ChangeExpiry(id, ttl_seconds);
  EndChange(id);
  co_return changed;
}

Task<Result<void>> LeaseService::ChangeExpiry(std::string id, std::uint64_t ttl_seconds) {
  RB_CO_TRY(LeaseRecord * lease, FindChangeable(id));
  const BootTime expires_before =
      std::exchange(lease->expires_at, After(parts_.clock.Boot(), ttl_seconds));
  const std::uint64_t ttl_before = std::exchange(lease->spec.ttl_seconds, ttl_seconds);
  const std::uint64_t revision_before = lease->metadata.revision;
  const std::uint64_t mine = lease->metadata.revision = parts_.leases.NextRevision();
  auto saved = co_await parts_.persistence.Save();
  if (saved) co_return saved;
  lease = parts_.leases.Find(id);
  lease->expires_at = expires_before;
  lease->spec.ttl_seconds = ttl_before;
  if (lease->metadata.revision == mine) lease->metadata.revision = revision_before;
  co_return saved;
}

Task<Result<void>> LeaseService::Revoke(std::string id, rest::RevokeRequest request) {
  LeaseRecord* lease = parts_.leases.Find(id);
  while (lease != nullptr && lease->phase == rest::Phase::kPending) {
    co_await changed_.Wait();
    lease = parts_.leases.Find(id);
  }
  if (lease == nullptr) co_return Fail(ErrorCode::kNotFound, "lease " + id);
  if (!lease->live()) co_return Result<void>{};

  const std::chrono::milliseconds grace(static_cast<std::int64_t>(request.grace_ms));
  const auto grace_end = std::chrono::steady_clock::now() + grace;
  const auto earlier = grace_until_.find(id);
  if (!lease->ending) {
    lease->ending = true;
    grace_until_[id] = grace_end;
    const rest::Phase phase =
        request.reason == "released" ? rest::Phase::kReleased : rest::Phase::kRevoked;
    parts_.loop.Spawn(End(id, phase, grace));
  } else if (earlier != grace_until_.end() && grace_end < earlier->second) {
    earlier->second = grace_end;
    parts_.loop.Spawn(NotifyAfter(grace));
  }
  if (request.grace_ms > 0) co_return Result<void>{};

  const auto deadline = std::chrono::steady_clock::now() + kRevokeWait;
  parts_.loop.Spawn(NotifyAfter(kRevokeWait));
  while (std::chrono::steady_clock::now() < deadline) {
    lease = parts_.leases.Find(id);
    if (lease == nullptr || !lease->live() || IsIrrevocable(*lease)) break;
    co_await changed_.Wait();
  }
  co_return Result<void>{};
}

// Lets those who wait for changed_ until some time see that it has come.
Task<void> LeaseService::NotifyAfter(std::chrono::milliseconds delay) {
  co_await SleepFor(parts_.loop, delay);
  changed_.NotifyAll();
}

Task<void> LeaseService::WaitForGrace(std::string id) {
  while (std::chrono::steady_clock::now() < grace_until_[id]) co_await changed_.Wait();
  grace_until_.erase(id);
}

// REQUIRES: lease->ending was set by the caller, so that there is one End per lease.
Task<void> LeaseService::End(std::string id, rest::Phase phase, std::chrono::milliseconds grace) {
  LeaseRecord* lease = parts_.leases.Find(id);
  lease->phase = rest::Phase::kDraining;
  lease->metadata.revision = parts_.leases.NextRevision();
  if (grace.count() > 0) {
    (void)WritePolicy(lease, wire::PolicyState::kDraining);
    AddEvent(*lease, "lease_draining", "revoke in " + std::to_string(grace.count()) + " ms");
    parts_.loop.Spawn(NotifyAfter(grace));
  }
  // A broken disk does not stop a revoke: a restart would at worst do it again.
  if (auto saved = co_await parts_.persistence.Save(); !saved) {
    RB_LOG_ERROR("checkpoint: {}", saved.error().message);
  }
  co_await WaitForGrace(id);
  // A change that is being applied would raise the kernel's limits again after they are zero.
  while (changing_.contains(id)) co_await changed_.Wait();
  co_await TakeBack(id);
  co_await CloseBooks(id, phase);
  changed_.NotifyAll();
}

// Revokes until the kernel shows nothing of the lease any more.
Task<void> LeaseService::TakeBack(std::string id) {
  LeaseRecord* lease = parts_.leases.Find(id);
  (void)WritePolicy(lease, wire::PolicyState::kRevoked);
  while (true) {
    RevokeTarget target{.lease = id,
                        .cgroup = lease->cgroup,
                        .devices = parts_.node.DevicesOf(lease->grant.devices)};
    const RevokeReport report = co_await parts_.revoker.Revoke(std::move(target));
    lease = parts_.leases.Find(id);
    NoteRevoke(lease, report);
    if (report.clean) break;
    co_await SleepFor(parts_.loop, kRetryRevoke);
    lease = parts_.leases.Find(id);
  }
  lease->conditions.clear();
}

// Events and conditions of one attempt. Attempts that end like the one before say nothing new.
void LeaseService::NoteRevoke(LeaseRecord* lease, const RevokeReport& report) {
  const std::string message = Describe(report);
  if (report.clean) {
    if (report.files > 0 || report.killed) AddEvent(*lease, "objects_taken_back", message);
    return;
  }
  if (!IsIrrevocable(*lease)) {
    lease->conditions.push_back({.type = std::string(kIrrevocable),
                                 .message = {},
                                 .since = FormatTimestamp(parts_.clock.Wall())});
    changed_.NotifyAll();
  }
  const auto condition = std::ranges::find(lease->conditions, kIrrevocable, &rest::Condition::type);
  if (condition->message == message) return;
  condition->message = message;
  AddEvent(*lease, "revoke_incomplete", message);
}

// The last counts, then everything of the lease goes but its record.
Task<void> LeaseService::CloseBooks(std::string id, rest::Phase phase) {
  LeaseRecord* lease = parts_.leases.Find(id);
  parts_.settler.ReportDenials(*lease);
  if (lease->counters) {
    for (const SlotNote& note : lease->slots) RetireSlot(lease->counters->page(), note.slot);
    parts_.ended_traffic.Add(*lease);
    rest::LeaseUsage usage = ReadUsage(*lease->counters->page());
    AddSettled(lease->settled, &usage);
    usage.used = {};
    lease->settled = std::move(usage);
  }
  lease->slots.clear();
  lease->counters.reset();
  if (lease->policy) lease->policy->Remove();
  lease->policy.reset();
  parts_.attachments.Drop(id);
  lease->phase = phase;
  lease->ending = false;
  lease->metadata.revision = parts_.leases.NextRevision();
  AddEvent(*lease, std::string(EventOf(phase)), "lease of tenant " + lease->spec.tenant + " ended");

  const std::string cgroup = lease->cgroup;
  const bool is_own = lease->spec.workload.cgroup.empty();
  const std::vector<std::string> devices = lease->grant.devices;
  co_await LeaveCgroup(cgroup, is_own, devices);
  parts_.leases.ForgetOldest();
  if (auto saved = co_await parts_.persistence.Save(); !saved) {
    RB_LOG_ERROR("checkpoint: {}", saved.error().message);
  }
}

// A cgroup that is somebody else's stays.
Task<void> LeaseService::LeaveCgroup(std::string path, bool is_own,
                                     std::vector<std::string> devices) {
  if (path.empty()) co_return;
  if (is_own) {
    co_await RemoveCgroup(path);
    co_return;
  }
  auto leave = [kernel = parts_.kernel, path, devices] {
    SetLimitsWithoutLease(kernel, path, devices);
  };
  co_await parts_.pool.Run(std::move(leave));
}

Task<void> LeaseService::RemoveCgroup(std::string path) {
  auto remove = [&cgroups = parts_.kernel.cgroups, path] { return cgroups.Remove(path); };
  const auto removed = co_await parts_.pool.Run(std::move(remove));
  if (removed) {
    leftover_cgroups_.erase(path);
  } else {
    leftover_cgroups_.insert(path);  // processes without RDMA are still in it; Tick() tries again
  }
}

void LeaseService::Tick() {
  for (const std::string& id : parts_.leases.Expired(parts_.clock.Boot())) {
    LeaseRecord* lease = parts_.leases.Find(id);
    if (lease->phase != rest::Phase::kActive) continue;
    lease->ending = true;
    parts_.loop.Spawn(End(id, rest::Phase::kExpired, std::chrono::milliseconds(0)));
  }
  const std::set<std::string> leftover = leftover_cgroups_;
  for (const std::string& path : leftover) parts_.loop.Spawn(RemoveCgroup(path));
}

}  // namespace rb::agent
