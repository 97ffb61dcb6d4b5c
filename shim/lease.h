// The lease that this process works under: its devices, its two pages, and the session with the
// agent that brings them.
//
// A process asks once (HELLO) and keeps the pages; it asks again when the lease it has was revoked,
// when an OPEN was refused, and when the agent was restarted. Pages of an older lease stay mapped
// while files of it are open.
//
// Threading: Session is safe; its lock is held during a call to the agent, so a caller may wait up
// to wire::kCallTimeoutMs. No verbs call is made under it.
#pragma once

#include "shim/agent_client.h"
#include "shim/config.h"
#include "shim/device_path.h"
#include "shim/policy.h"

namespace rb::shim {

// One grant's pages. Constant after it was published, but for `cache` and `files`.
struct Lease {
  wire::Text<wire::kLeaseIdBytes> id{};
  const wire::PolicyPage* policy = nullptr;
  wire::CountersPage* counters = nullptr;
  PolicyCache cache;
  std::uint32_t files = 0;  // open uverbs files under it; atomic
  // The pages' files are closed once mapped: a restarted agent finds the counters again in
  // /proc/PID/map_files, and the application's descriptor numbers stay as it expects them.
  FileIdentity policy_file;
  FileIdentity counters_file;
};

struct OpenedFile {
  UniqueFd fd;
  Lease* lease = nullptr;
  std::uint32_t slot = 0;
  std::uint32_t device_index = 0;
  std::uint32_t driver_id = 0;
};

class Session {
 public:
  static constexpr std::size_t kLeasesMax = 16;

  constexpr Session() = default;

  // REQUIRES: `config` outlives the session.
  void Configure(const Config* config) { config_ = config; }

  // Finds the granted device behind a path. Returns 0, or ENOENT: not leased, no lease or no agent;
  // ETIMEDOUT: the agent did not answer.
  int Find(const DevicePath& path, wire::GrantedDevice* device);

  // Opens the granted device behind a path. Errors as Find, or what the agent answered.
  int Open(const DevicePath& path, OpenedFile* opened);

  // After fork(), in the child: the connection belongs to the parent.
  void ForgetInChild();

 private:
  int EnsureLease();
  int Hello();
  int Adopt(const UniqueFd& policy, const UniqueFd& counters);
  Lease* FreeLease();
  int FindLocked(const DevicePath& path, wire::GrantedDevice* device) const;
  int OpenLocked(const wire::GrantedDevice& device, OpenedFile* opened);
  void Report(const char* what, int error);

  Lock lock_;
  const Config* config_ = nullptr;
  AgentClient client_;
  wire::GrantReply grant_{};
  Lease* current_ = nullptr;
  bool stale_ = false;  // ask again before the next use
  std::uint64_t silent_until_ns_ = 0;
  int reported_error_ = 0;
  std::array<Lease, kLeasesMax> leases_{};
};

// True when MAJOR:MINOR is a uverbs node of this machine, leased or not (sysfs says so).
bool IsUverbsNumber(std::uint32_t major, std::uint32_t minor);

}  // namespace rb::shim
