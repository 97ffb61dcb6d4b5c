// What /proc says about one process, and the pure parsers of those files.
//
// It reads; it does not decide (agent/attest/attest.h does). The workload can forge mountinfo, so
// nothing here looks at it: a process's cgroup is what /proc/PID/cgroup says to the agent.
//
// Threading: stateless. The reads do not block. Source: proc(5), cgroups(7).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"

namespace rb::agent {

struct ProcessFacts {
  pid_t pid = 0;
  // Who owns /proc/PID: the effective uid, but root for a process that may not be dumped. Good to
  // show; a peer's credentials come from its socket.
  uid_t uid = 0;
  // Field 22 of stat: with the pid, it names the process for good.
  std::uint64_t start_time_ticks = 0;
  std::string cgroup;   // path below the cgroup2 mount: "/rdma-broker/lease-1"
  std::string command;  // comm: at most 15 bytes, chosen by the process
  // The effective uid, whether it may be dumped or not; absent when unknown.
  std::optional<uid_t> effective_uid = {};
  bool operator==(const ProcessFacts&) const = default;
};

// The cgroup2 line ("0::/path") of /proc/PID/cgroup.
// Errors: kUnsupported, there is none (cgroup v1 only); kInvalid, the path leaves the agent's view
// ("/../").
Result<std::string> ParseCgroup(std::string_view text);

// Field 22 of /proc/PID/stat. The command (field 2) may hold spaces and parentheses.
Result<std::uint64_t> ParseStartTime(std::string_view text);

// The second number of the line "Uid:" of /proc/PID/status. The name, which the process chooses,
// comes before it, but the kernel escapes line breaks there.
Result<uid_t> ParseEffectiveUid(std::string_view text);

// Port: the process table. The real one is ProcFs; tests use a fake.
class ProcessTable {
 public:
  virtual ~ProcessTable() = default;

  // Errors: kNotFound, the process is gone.
  virtual Result<ProcessFacts> Read(pid_t pid) const = 0;
};

class ProcFs final : public ProcessTable {
 public:
  explicit ProcFs(std::string root = "/proc") : root_(std::move(root)) {}

  Result<ProcessFacts> Read(pid_t pid) const override;

 private:
  std::string root_;
};

}  // namespace rb::agent
