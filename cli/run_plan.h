// What `rdmactl run` is going to do, decided before anything is done. Pure.
//
// Carrying it out: run_command.h (the lease) and workload.h (the process).
// Threading: values and pure functions.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/rest/lease.h"
#include "cli/options.h"
#include "common/base/result.h"

namespace rb::cli {

using Environment = std::map<std::string, std::string>;

// The run's own time to live: renewed at half of it, so it only matters when rdmactl itself is
// killed. Then the lease is gone this much later at the latest.
inline constexpr std::uint64_t kRunTtlSeconds = 600;

// Who runs rdmactl, and what it finds on this machine.
struct Caller {
  uid_t uid = 0;
  gid_t gid = 0;
  Environment environment;
  std::string program_folder;  // where rdmactl itself lies
  std::function<std::optional<gid_t>(uid_t)> primary_group;
  std::function<bool(const std::string&)> is_file;
};

// The process to be: as whom, in which surroundings, with what.
struct WorkloadPlan {
  uid_t uid = 0;
  gid_t gid = 0;
  bool change_user = false;   // root only
  bool hide_devices = false;  // an empty /dev/infiniband of its own; root only
  bool rdma_cm = false;       // with rdma_cm left in it
  std::string shim;
  std::string agent_socket;
  std::vector<std::string> command;
  Environment environment;
  bool operator==(const WorkloadPlan&) const = default;
};

struct RunPlan {
  // Set: create this lease, and end it with the command. Unset: `token` names one that exists and
  // is somebody else's to renew and end.
  std::optional<rest::LeaseRequest> request;
  std::string token;
  WorkloadPlan workload;
};

// Errors: kInvalid, with the flag to change; kDenied, what only root can do; kNotFound, no shim.
Result<RunPlan> MakeRunPlan(const RunOptions& options, const std::string& admin_socket,
                            const Caller& caller);

// Places where the shim is looked for, in this order, when --shim does not say.
std::vector<std::string> ShimPlaces(const std::string& program_folder);

}  // namespace rb::cli
