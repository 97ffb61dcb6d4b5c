#include "cli/run_plan.h"

namespace rb::cli {
namespace {

constexpr const char* kTokenVariable = "RDMA_LEASE";
constexpr const char* kSocketVariable = "RDMA_AGENT_SOCKET";
constexpr const char* kPreloadVariable = "LD_PRELOAD";
constexpr const char* kShimName = "librdma-shim.so";
constexpr const char* kTenantSocket = "/tenant/agent.sock";
constexpr const char* kDefaultTenantSocket = "/run/rdma-broker/tenant/agent.sock";

std::string Variable(const Caller& caller, const char* name) {
  const auto found = caller.environment.find(name);
  return found == caller.environment.end() ? "" : found->second;
}

template <class T>
Result<T> Of(std::string_view source, Result<T> result) {
  if (!result) result.error().message = std::string(source) + ": " + result.error().message;
  return result;
}

Result<uid_t> TargetUser(const RunOptions& options, const Caller& caller) {
  if (!options.uid.empty()) return Of("--uid", ParseId(options.uid));
  if (caller.uid != 0) return caller.uid;
  const std::string sudo_uid = Variable(caller, "SUDO_UID");
  if (!sudo_uid.empty() && sudo_uid != "0") return Of("SUDO_UID", ParseId(sudo_uid));
  return Fail(ErrorCode::kInvalid,
              "run: as which user? Give --uid, as in --uid 1000 (--uid 0 when root is meant)");
}

Result<gid_t> TargetGroup(const RunOptions& options, const Caller& caller, uid_t uid) {
  if (!options.gid.empty()) return Of("--gid", ParseId(options.gid));
  if (caller.uid != 0) return caller.gid;
  if (const auto group = caller.primary_group(uid)) return *group;
  // An id without an account, as containers have them: its group has the same number.
  return static_cast<gid_t>(uid);
}

Result<void> SetUser(const RunOptions& options, const Caller& caller, WorkloadPlan* plan) {
  RB_TRY(plan->uid, TargetUser(options, caller));
  RB_TRY(plan->gid, TargetGroup(options, caller, plan->uid));
  const bool root = caller.uid == 0;
  if (!root && (plan->uid != caller.uid || plan->gid != caller.gid)) {
    return Fail(ErrorCode::kDenied, "run: only root can change to another user or group");
  }
  plan->change_user = root;
  // Without root there is no mount to hide with; device nodes are root's alone anyway.
  plan->hide_devices = root && !options.keep_devices;
  plan->rdma_cm = options.rdma_cm;
  return {};
}

Result<std::string> FindShim(const RunOptions& options, const Caller& caller) {
  if (!options.shim.empty()) {
    if (caller.is_file(options.shim)) return options.shim;
    return Fail(ErrorCode::kNotFound, "--shim: no file " + options.shim);
  }
  std::string looked;
  for (const std::string& place : ShimPlaces(caller.program_folder)) {
    if (caller.is_file(place)) return place;
    looked += "\n  " + place;
  }
  return Fail(ErrorCode::kNotFound,
              std::string("run: no ") + kShimName + "; name it with --shim. Looked at:" + looked);
}

std::string FindAgentSocket(const RunOptions& options, const std::string& admin_socket,
                            const Caller& caller) {
  if (!options.agent_socket.empty()) return options.agent_socket;
  std::string variable = Variable(caller, kSocketVariable);
  if (!variable.empty()) return variable;
  const std::size_t slash = admin_socket.rfind('/');
  return (slash == std::string::npos ? "." : admin_socket.substr(0, slash)) + kTenantSocket;
}

// The command's environment. The token stays out of it: once inside the lease's cgroup the process
// needs none, and every child would carry the secret on.
Environment WorkloadEnvironment(const Caller& caller, const WorkloadPlan& plan) {
  Environment environment = caller.environment;
  environment.erase(kTokenVariable);
  const std::string before = Variable(caller, kPreloadVariable);
  environment[kPreloadVariable] = before.empty() ? plan.shim : plan.shim + ":" + before;
  if (plan.agent_socket == kDefaultTenantSocket) {
    environment.erase(kSocketVariable);
  } else {
    environment[kSocketVariable] = plan.agent_socket;
  }
  return environment;
}

Result<rest::LeaseRequest> NewLease(const RunOptions& options, const Caller& caller,
                                    const WorkloadPlan& plan) {
  if (caller.uid != 0) {
    return Fail(ErrorCode::kDenied,
                "run: creating a lease needs root; run it with sudo, or give the token of a lease "
                "with --lease-token or RDMA_LEASE");
  }
  rest::LeaseRequest request;
  request.spec.tenant = "uid-" + std::to_string(plan.uid);
  request.spec.ttl_seconds = kRunTtlSeconds;
  request.spec.workload = {.token = true, .uid = plan.uid, .cgroup = ""};
  RB_TRY_VOID(ApplyFlags(options.lease, &request));
  RB_TRY_VOID(CheckRequest(request));
  return request;
}

Result<void> SetLease(const RunOptions& options, const Caller& caller, RunPlan* plan) {
  const bool described = options.lease != LeaseFlags{};
  if (!options.lease_token.empty() && described) {
    return Fail(ErrorCode::kInvalid,
                "run: --lease-token names a lease that exists; leave the flags of a new one out");
  }
  plan->token = options.lease_token;
  // Flags of a new lease were typed just now; a variable may have been lying around.
  if (plan->token.empty() && !described) plan->token = Variable(caller, kTokenVariable);
  if (!plan->token.empty()) return {};
  RB_TRY(plan->request, NewLease(options, caller, plan->workload));
  return {};
}

}  // namespace

Result<RunPlan> MakeRunPlan(const RunOptions& options, const std::string& admin_socket,
                            const Caller& caller) {
  RunPlan plan;
  WorkloadPlan& workload = plan.workload;
  RB_TRY_VOID(SetUser(options, caller, &workload));
  RB_TRY_VOID(SetLease(options, caller, &plan));
  RB_TRY(workload.shim, FindShim(options, caller));
  workload.agent_socket = FindAgentSocket(options, admin_socket, caller);
  workload.command = options.command;
  workload.environment = WorkloadEnvironment(caller, workload);
  return plan;
}

std::vector<std::string> ShimPlaces(const std::string& program_folder) {
  return {program_folder + "/" + kShimName, program_folder + "/../shim/" + kShimName,
          program_folder + "/../lib/rdma-broker/" + kShimName,
          std::string("/usr/lib/rdma-broker/") + kShimName};
}

}  // namespace rb::cli
