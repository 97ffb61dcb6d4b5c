// The process that `rdmactl run` starts: a port. linux_workload.h is the real one.
//
// Threading: used by one thread.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "cli/run_plan.h"
#include "common/base/result.h"

namespace rb::cli {

class Workload {
 public:
  virtual ~Workload() = default;

  // From here on signals to rdmactl wait for Wait() instead of ending it. Call it before there is
  // anything to clean up.
  virtual Result<void> HoldSignals() = 0;

  // Starts the command inside the lease that `token` names; returns once it runs. The process is
  // gone when this fails. Errors: the step that failed; reasons kReasonNoCommand and
  // kReasonCannotExecute when it was the last one.
  virtual Result<void> Start(const WorkloadPlan& plan, const std::string& token) = 0;

  // Waits up to `timeout` for the command to end, passing signals on to it meanwhile. Its exit
  // status (128 + signal when one ended it), or nullopt when the time is up.
  // REQUIRES: Start() succeeded.
  virtual Result<std::optional<int>> Wait(std::chrono::milliseconds timeout) = 0;

  // Just waits; for a retry.
  virtual void Pause(std::chrono::milliseconds time) = 0;
};

}  // namespace rb::cli
