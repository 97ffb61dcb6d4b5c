// Creates, changes, renews and ends leases: the table, the kernel, the pages and the checkpoint
// together.
//
// Nothing is acknowledged before it is durable. What a lease may have is admission's business, how
// objects are taken back the revoker's; who may call is the caller's.
//
// Runs on: loop. Records are found again by id after every wait: they may have ended meanwhile.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/control/attachments.h"
#include "agent/control/kernel.h"
#include "agent/control/node_view.h"
#include "agent/control/persistence.h"
#include "agent/control/revoker.h"
#include "agent/control/settler.h"
#include "agent/lease/event_log.h"
#include "agent/lease/lease_table.h"
#include "agent/lease/traffic_totals.h"
#include "common/base/clock.h"
#include "common/runtime/async_event.h"
#include "common/runtime/loop.h"
#include "common/runtime/task.h"

namespace rb::agent {

struct CreatedLease {
  std::string id;
  std::string token;  // shown once; empty for leases without one
};

class LeaseService {
 public:
  struct Parts {
    Loop& loop;
    BlockingPool& pool;
    Kernel kernel;
    const Clock& clock;
    NodeView& node;
    LeaseTable& leases;
    EventLog& events;
    Attachments& attachments;
    Settler& settler;
    Revoker& revoker;
    Persistence& persistence;
    TrafficTotals& ended_traffic;  // takes what an ended lease counted
    std::string page_directory;    // for policy pages, on tmpfs
  };

  explicit LeaseService(Parts parts) : parts_(parts), changed_(parts.loop) {}

  // Errors: those of Admit(); kExhausted "leases_max"; the kernel's; the disk's (then nothing was
  // made).
  Task<Result<CreatedLease>> Create(rest::LeaseRequest request);

  // `patch` is an RFC 7386 merge patch; `revision` the one that the caller knows, if it must match.
  // Changes of one lease follow each other: each builds on what is durable.
  // Errors: kNotFound, kStale, kConflict (ended or ending), those of AdmitChange(); the disk's
  // (then the lease is as before).
  Task<Result<void>> Patch(std::string id, std::optional<std::uint64_t> revision,
                           std::string patch);

  // Ends at `ttl_seconds` from now. Errors: kNotFound, kConflict; the disk's (as for Patch()).
  Task<Result<void>> Renew(std::string id, std::uint64_t ttl_seconds);

  // Starts to take the lease back. Without grace it returns when that is done, or after kRevokeWait
  // with the lease still draining; with grace at once. A second revoke can shorten the grace of the
  // first. Revoking an ended lease changes nothing; one that is being made is revoked when it is
  // whole. Errors: kNotFound.
  Task<Result<void>> Revoke(std::string id, rest::RevokeRequest request);

  // Ends leases whose time is over, and removes cgroups that could not be removed before. Call
  // every second.
  void Tick();

  // At start: makes the table of the checkpoint whole again with what the kernel still has.
  Task<void> Restore(bool same_boot);

 private:
  Result<std::string> Prepare(LeaseRecord* record);
  Task<Result<void>> MakeKernelSide(std::string id);
  Task<void> Abandon(std::string id);
  Result<LeaseRecord*> FindChangeable(const std::string& id);
  Task<Result<void>> BeginChange(std::string id);
  void EndChange(const std::string& id);
  Task<Result<void>> ChangeSpec(std::string id, std::optional<std::uint64_t> revision,
                                std::string patch);
  Task<Result<void>> ChangeExpiry(std::string id, std::uint64_t ttl_seconds);
  Task<void> End(std::string id, rest::Phase phase, std::chrono::milliseconds grace);
  Task<void> WaitForGrace(std::string id);
  Task<void> NotifyAfter(std::chrono::milliseconds delay);
  Task<void> TakeBack(std::string id);
  void NoteRevoke(LeaseRecord* lease, const RevokeReport& report);
  Task<void> CloseBooks(std::string id, rest::Phase phase);
  Task<void> LeaveCgroup(std::string path, bool is_own, std::vector<std::string> devices);
  Task<void> RemoveCgroup(std::string path);
  Task<void> RestoreLease(std::string id);
  struct Adopted;
  Result<void> TakeUp(LeaseRecord* lease, Adopted adopted);
  void AddEvent(const LeaseRecord& lease, std::string type, std::string message);
  Result<void> WritePolicy(LeaseRecord* lease, wire::PolicyState state);

  Parts parts_;
  AsyncEvent changed_;              // a lease was made, ended or found irrevocable; a turn is over
  std::set<std::string> changing_;  // leases with a Patch() or Renew() on its way
  // Leases that are given time to end by themselves, and until when.
  std::map<std::string, std::chrono::steady_clock::time_point> grace_until_;
  std::set<std::string> leftover_cgroups_;
};

// How long a revoke's caller waits for the end.
inline constexpr std::chrono::seconds kRevokeWait{10};

}  // namespace rb::agent
