// `rdmactl run`: a lease that lives exactly as long as a command.
//
// The lease is renewed at half its time to live while the command runs, and released when it ends,
// however it ends. Only a SIGKILL of rdmactl itself leaves it: the kernel then kills the command
// (PR_SET_PDEATHSIG), and the lease ends with its ttl.
// Threading: one thread.
#pragma once

#include <iosfwd>

#include "cli/node_api.h"
#include "cli/run_plan.h"
#include "cli/workload.h"
#include "common/base/clock.h"
#include "common/base/result.h"

namespace rb::cli {

struct RunPorts {
  NodeApi& api;
  Workload& workload;
  const Clock& clock;
  std::ostream& messages;  // stderr: what the user should know while the command runs
};

// The command's exit status. Errors: what kept it from starting; the lease is released by then.
Result<int> RunUnderLease(const RunPlan& plan, bool verbose, const RunPorts& ports);

}  // namespace rb::cli
