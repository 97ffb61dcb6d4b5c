#include "agent/control/attach.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "common/runtime/digest.h"
#include "common/runtime/process.h"

namespace rb::agent {
namespace {

Result<void> CheckActive(const LeaseRecord& lease) {
  if (!lease.policy || !lease.counters) {
    return Fail(ErrorCode::kConflict, "lease " + lease.id() + ": its pages could not be restored",
                "not_active");
  }
  if (lease.accepts_processes()) return {};
  return Fail(ErrorCode::kConflict,
              "lease " + lease.id() + ": " + std::string(Name(lease.phase)) + ", not active",
              "not_active");
}

bool IsOpen(const LeaseRecord& lease, const SlotNote& note) {
  return wire::LoadAcquire(lease.counters->page()->slots[note.slot].state) !=
         static_cast<std::uint32_t>(wire::SlotState::kClosed);
}

std::uint64_t OpenFiles(const LeaseRecord& lease) {
  return static_cast<std::uint64_t>(std::ranges::count_if(
      lease.slots, [&](const SlotNote& note) { return IsOpen(lease, note); }));
}

bool MustSettle(const LeaseRecord& lease) {
  return OpenFiles(lease) >= lease.spec.limits[wire::Limit::kContexts] ||
         lease.slots.size() >= wire::kSlotsMax;
}

}  // namespace

// The lease that the token admits this peer to.
Result<LeaseRecord*> Attach::Admit(const Attested& peer, const std::string& token) {
  LeaseRecord* lease = leases_.FindByTokenHash(Sha256Hex(token));
  if (lease == nullptr) {
    return Fail(ErrorCode::kDenied, "token: of no lease on this node", "bad_token");
  }
  if (lease->spec.workload.uid && *lease->spec.workload.uid != peer.uid) {
    return Fail(ErrorCode::kDenied,
                "token: for uid " + std::to_string(*lease->spec.workload.uid) + ", not " +
                    std::to_string(peer.uid),
                "wrong_uid");
  }
  RB_TRY_VOID(CheckActive(*lease));
  const LeaseRecord* current = leases_.FindByCgroup(peer.facts.cgroup);
  if (current != nullptr && current != lease) {
    return Fail(ErrorCode::kDenied, "process is in " + current->id() + " already", "other_lease");
  }
  return lease;
}

Task<Result<std::string>> Attach::Enter(const Attested& peer, std::string token) {
  const auto lease = Admit(peer, token);
  if (!lease) co_return tl::unexpected(lease.error());
  co_return co_await MoveInto(peer, (*lease)->id());
}

Task<Result<std::string>> Attach::MoveInto(const Attested& peer, std::string id) {
  const LeaseRecord* lease = leases_.Find(id);
  if (leases_.FindByCgroup(peer.facts.cgroup) == lease) co_return id;
  // A second move that was admitted before the first one ended would carry the process, and what it
  // opened meanwhile, out of the first lease's cgroup, where its revoke looks for it.
  const pid_t pid = peer.facts.pid;
  const auto [other, is_only] = moving_.emplace(pid, id);
  if (!is_only && other->second != id) {
    co_return Fail(ErrorCode::kDenied, "process is being moved by another request", "other_lease");
  }
  auto move = [&cgroups = kernel_.cgroups, path = lease->cgroup, pid,
               pidfd = peer.pidfd.get()]() -> Result<void> {
    // It may have waited for a thread: the pid of a process that is gone can be anybody's by now.
    if (HasExited(pidfd)) return Fail(ErrorCode::kNotFound, "peer: exited", "peer_gone");
    return cgroups.Enter(path, pid);
  };
  auto moved = co_await pool_.Run(std::move(move));
  moving_.erase(pid);
  if (!moved) co_return tl::unexpected(moved.error());
  // The pid could have been another process by then: only the one that asked may be told so.
  const auto now = Reattest(peer, kernel_.processes);
  if (!now) co_return tl::unexpected(now.error());
  lease = leases_.Find(id);
  if (lease == nullptr)
    co_return Fail(ErrorCode::kConflict, "lease " + id + ": ended", "not_active");
  RB_CO_TRY_VOID(CheckActive(*lease));
  co_return id;
}

Task<Result<std::string>> Attach::Hello(const Attested& peer, std::string token) {
  LeaseRecord* lease = leases_.FindByCgroup(peer.facts.cgroup);
  if (lease == nullptr && !token.empty()) {
    const auto admitted = Admit(peer, token);
    if (!admitted) co_return tl::unexpected(admitted.error());
    lease = *admitted;
  }
  if (lease == nullptr) lease = leases_.FindByUid(peer.uid);
  if (lease == nullptr) {
    co_return Fail(ErrorCode::kNotFound,
                   "no lease for pid " + std::to_string(peer.facts.pid) + " (" +
                       peer.facts.command + "), uid " + std::to_string(peer.uid) + ", cgroup " +
                       peer.facts.cgroup,
                   "no_lease");
  }
  RB_CO_TRY_VOID(CheckActive(*lease));
  auto moved = co_await MoveInto(peer, lease->id());
  if (!moved) co_return tl::unexpected(moved.error());

  UniqueFd pidfd(::dup(peer.pidfd.get()));
  Attachment attachment{.pid = peer.facts.pid,
                        .start_time_ticks = peer.facts.start_time_ticks,
                        .uid = peer.uid,
                        .command = peer.facts.command,
                        .lease = *moved,
                        .attached_at = FormatTimestamp(clock_.Wall())};
  if (pidfd) attachments_.Add(std::move(attachment), std::move(pidfd));
  co_return *moved;
}

// Dead processes' files may still be on the books. A look that is under way may have begun before
// they died, so it does not count.
Task<void> Attach::MakeRoom(std::string id) {
  co_await settler_.WaitForOther(id);
  const LeaseRecord* lease = leases_.Find(id);
  if (lease != nullptr && lease->counters && MustSettle(*lease)) co_await settler_.Settle(id);
}

// A slot for one more open file, or the reason why not. The settler has run when it could help.
Result<std::uint32_t> Attach::FreeSlot(LeaseRecord* lease, pid_t pid) {
  const std::uint64_t open = OpenFiles(*lease);
  const std::uint64_t allowed = lease->spec.limits[wire::Limit::kContexts];
  if (open >= allowed) {
    Settler::CountRefusal(*lease, wire::Limit::kContexts, open, pid);
    return Fail(ErrorCode::kExhausted,
                "limit contexts: used " + std::to_string(open) + ", asked 1 more, allowed " +
                    std::to_string(allowed),
                "limit_contexts");
  }
  for (std::uint32_t i = 0; i < wire::kSlotsMax; ++i) {
    if (std::ranges::find(lease->slots, i, &SlotNote::slot) == lease->slots.end()) return i;
  }
  return Fail(ErrorCode::kExhausted,
              "slots: " + std::to_string(wire::kSlotsMax) + " files of this lease are open",
              "slots");
}

Task<Result<OpenedDevice>> Attach::Open(const Attested& peer, std::string id, std::string device) {
  LeaseRecord* lease = leases_.Find(id);
  const auto now = Reattest(peer, kernel_.processes);
  if (!now) co_return tl::unexpected(now.error());
  if (lease == nullptr || leases_.FindByCgroup(now->cgroup) != lease) {
    co_return Fail(ErrorCode::kDenied, "process is not in the cgroup of " + id, "other_lease");
  }
  RB_CO_TRY_VOID(CheckActive(*lease));
  const auto leased = std::ranges::find(lease->grant.devices, device);
  if (leased == lease->grant.devices.end()) {
    co_return Fail(ErrorCode::kNotFound, "device " + device + ": not in " + id,
                   "device_not_leased");
  }
  const auto index = static_cast<std::uint32_t>(leased - lease->grant.devices.begin());

  if (MustSettle(*lease)) co_await MakeRoom(id);
  auto open = [&opener = kernel_.opener, device] { return opener.Open(device); };
  auto file = co_await pool_.Run(std::move(open));
  if (!file) co_return Fail(file.error().code, file.error().message, "device_gone");

  lease = leases_.Find(id);
  if (lease == nullptr)
    co_return Fail(ErrorCode::kConflict, "lease " + id + ": ended", "not_active");
  RB_CO_TRY_VOID(CheckActive(*lease));
  RB_CO_TRY(const std::uint32_t slot, FreeSlot(lease, peer.facts.pid));
  // What a closed file left in the slot goes to the totals before the slot is used again.
  RetireSlot(lease->counters->page(), slot);
  wire::CounterSlot& entry = lease->counters->page()->slots[slot];
  wire::Store(&entry.device_index, index);
  wire::Store(&entry.opener_pid, static_cast<std::uint32_t>(peer.facts.pid));
  wire::Store<std::uint32_t>(&entry.holders, 1);
  wire::StoreRelease(&entry.state, static_cast<std::uint32_t>(wire::SlotState::kOpen));
  lease->slots.push_back({.slot = slot, .device = device, .opener = peer.facts.pid});

  const rdma::Device* known = node_.inventory().Find(device);
  OpenedDevice opened{.file = std::move(*file),
                      .slot = slot,
                      .device_index = index,
                      .driver_id = known != nullptr ? known->driver_id : 0};
  co_return opened;
}

}  // namespace rb::agent
