// The leases of this node: the one place that knows which exist, whose they are and when they end.
//
// It holds state and answers questions; it touches no kernel and writes no file (agent/control
// does). Runs on: loop.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/lease/admission.h"
#include "agent/lease/pages.h"
#include "agent/lease/settle.h"
#include "api/rest/lease.h"
#include "api/rest/stored_lease.h"
#include "common/base/clock.h"
#include "common/base/result.h"

namespace rb::agent {

inline constexpr std::size_t kLiveLeasesMax = 1024;
// Ended leases stay listed so that "what became of it?" has an answer; the oldest go first.
inline constexpr std::size_t kEndedLeasesMax = 256;

// One lease. `body.status` is filled in only where it cannot be derived; ToBody() does the rest.
struct LeaseRecord {
  rest::LeaseMetadata metadata;
  rest::LeaseSpec spec;
  rest::Phase phase = rest::Phase::kPending;
  Grant grant;
  std::string token_hash;  // SHA-256, hexadecimal; empty: no token admits to this lease
  BootTime expires_at{};
  std::vector<rest::Condition> conditions;
  rest::LeaseUsage settled;  // counted before the counters page that is mapped now, or at the end

  // Present while the lease is live.
  std::string cgroup;
  std::optional<PolicyFile> policy;
  std::optional<CountersMemory> counters;
  std::vector<SlotNote> slots;
  std::array<std::uint64_t, wire::kLimitCount> denials_seen{};
  bool ending = false;  // a revoke is on its way: no attach, no change

  const std::string& id() const { return metadata.name; }
  bool live() const { return !rest::IsEnded(phase); }
  bool accepts_processes() const { return phase == rest::Phase::kActive && !ending; }
};

class LeaseTable {
 public:
  // The record is owned by the table and stays at its address until it is forgotten.
  LeaseRecord& Insert(LeaseRecord record);
  void Erase(const std::string& id);

  LeaseRecord* Find(std::string_view id);
  const LeaseRecord* Find(std::string_view id) const;
  // The live lease whose cgroup is `path` or an ancestor of it; of several the innermost.
  LeaseRecord* FindByCgroup(std::string_view path);
  LeaseRecord* FindByTokenHash(std::string_view hash);
  // The live lease that is for this uid without a token.
  LeaseRecord* FindByUid(uid_t uid);

  // In order of creation.
  std::vector<LeaseRecord*> All();
  std::vector<const LeaseRecord*> All() const;
  std::vector<LeaseRecord*> Live();
  std::size_t live_count() const;

  // Every live lease but `except`, as admission sees them.
  std::vector<Neighbour> Neighbours(std::string_view except = {}) const;

  // Ids of live leases whose time is over and that are not ending yet.
  std::vector<std::string> Expired(BootTime now) const;

  // Drops the oldest ended leases above kEndedLeasesMax.
  void ForgetOldest();

  std::uint64_t NextRevision() { return next_revision_++; }
  std::uint64_t next_revision() const { return next_revision_; }

  // Everything that must survive a restart. Ended leases are kept too.
  rest::Checkpoint ToCheckpoint(const std::string& boot_id, std::uint64_t next_event) const;
  // The opposite, without pages, cgroups and slots, which the caller finds in the kernel.
  // REQUIRES: an empty table.
  void FromCheckpoint(const rest::Checkpoint& checkpoint);

 private:
  std::map<std::string, std::unique_ptr<LeaseRecord>, std::less<>> leases_;
  std::uint64_t next_revision_ = 1;
};

// The lease as the API shows it now. `levels` says what enforces what on this node.
rest::Lease ToBody(const LeaseRecord& record, const std::string& node, BootTime now,
                   bool has_rdma_controller, std::uint64_t processes);

}  // namespace rb::agent
