// Starts and watches the command of `rdmactl run` on Linux. Implements Workload (workload.h).
//
// The child, between fork and exec: own mount namespace without device nodes, the user, no
// capabilities, ENTER (so the agent moves it into the lease's cgroup), no_new_privs, exec with the
// shim preloaded. It reports a failed step through a pipe that exec closes.
//
// It stays in rdmactl's process group, so the terminal's own signals reach it without help; only
// those that somebody sent to rdmactl are passed on.
// Threading: REQUIRES a single-threaded process, for fork.
#pragma once

#include <sys/types.h>

#include <csignal>

#include "cli/workload.h"
#include "common/bare/unique_fd.h"

namespace rb::cli {

class LinuxWorkload final : public Workload {
 public:
  LinuxWorkload() = default;
  // Kills the command when it still runs: nobody would end its lease.
  ~LinuxWorkload() override;
  LinuxWorkload(const LinuxWorkload&) = delete;
  LinuxWorkload& operator=(const LinuxWorkload&) = delete;

  Result<void> HoldSignals() override;
  Result<void> Start(const WorkloadPlan& plan, const std::string& token) override;
  Result<std::optional<int>> Wait(std::chrono::milliseconds timeout) override;
  void Pause(std::chrono::milliseconds time) override;

 private:
  // The command's exit status if it has ended; reaps it.
  Result<std::optional<int>> Reap(int flags);
  void PassSignalsOn() const;

  sigset_t signals_before_{};
  UniqueFd signals_;  // signalfd
  pid_t child_ = -1;
};

}  // namespace rb::cli
