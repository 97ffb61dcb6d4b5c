// rdmactl: leases on this node's RDMA devices, from the command line.
//
//   rdmactl get leases|devices|node|processes|events [NAME]
//   rdmactl describe lease|device|node [NAME]
//   rdmactl lease create|patch|renew|revoke
//   rdmactl events [--since N]
//   rdmactl run [what the lease should be] -- COMMAND
//
// Results on stdout, everything else on stderr; exit codes are in exit_code.h.
#include <pwd.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <iostream>
#include <span>
#include <string_view>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/http_node_api.h"
#include "cli/linux_workload.h"
#include "cli/options.h"
#include "cli/run_command.h"
#include "cli/run_plan.h"

namespace rb::cli {
namespace {

Environment ReadEnvironment() {
  Environment environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::size_t equals = text.find('=');
    if (equals != std::string::npos) environment[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return environment;
}

std::string ProgramFolder() {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? "." : program.parent_path().string();
}

std::optional<gid_t> PrimaryGroup(uid_t uid) {
  const passwd* entry = ::getpwuid(uid);  // NOLINT(concurrency-mt-unsafe): one thread
  if (entry == nullptr) return std::nullopt;
  return entry->pw_gid;
}

bool IsFile(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error);
}

Result<int> Execute(const RunOptions& run, const Options& options, NodeApi& api) {
  const Caller caller{.uid = ::geteuid(),
                      .gid = ::getegid(),
                      .environment = ReadEnvironment(),
                      .program_folder = ProgramFolder(),
                      .primary_group = PrimaryGroup,
                      .is_file = IsFile};
  RB_TRY(const RunPlan plan, MakeRunPlan(run, options.admin_socket, caller));
  LinuxWorkload workload;
  const SystemClock clock;
  const RunPorts ports{.api = api, .workload = workload, .clock = clock, .messages = std::cerr};
  return RunUnderLease(plan, run.verbose, ports);
}

// The command that was asked for; its exit status.
struct Dispatch {
  const Options& options;
  NodeApi& api;
  Output output{.out = std::cout, .format = options.format};

  Result<int> operator()(const GetOptions& get) { return Done(RunGet(get, api, output)); }
  Result<int> operator()(const CreateOptions& make) { return Done(RunCreate(make, api, output)); }
  Result<int> operator()(const PatchOptions& patch) { return Done(RunPatch(patch, api, output)); }
  Result<int> operator()(const RenewOptions& renew) { return Done(RunRenew(renew, api, output)); }
  Result<int> operator()(const RevokeOptions& take) { return Done(RunRevoke(take, api, output)); }
  Result<int> operator()(const RunOptions& run) { return Execute(run, options, api); }

  static Result<int> Done(const Result<void>& result) {
    if (!result) return tl::unexpected<Error>(result.error());
    return EXIT_SUCCESS;
  }
};

Result<int> Answer(const Options& options) {
  if (!options.text.empty()) {
    std::cout << options.text;
    return EXIT_SUCCESS;
  }
  HttpNodeApi api(options.admin_socket);
  return std::visit(Dispatch{options, api}, options.command);
}

Result<int> Main(std::span<const std::string> arguments) {
  RB_TRY(const Options options, ParseOptions(arguments));
  RB_TRY(const int status, Answer(options));
  // A full disk or a closed pipe behind stdout: what was asked for was not delivered.
  if (!std::cout.flush()) return Fail(ErrorCode::kInternal, "cannot write the result to stdout");
  return status;
}

// Everybody may read /proc/PID/cmdline, for as long as the command runs.
void HideToken(std::span<char*> arguments) {
  constexpr std::string_view kFlag = "--lease-token";
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    if (argument == "--") return;
    char* token = nullptr;
    if (argument == kFlag && i + 1 < arguments.size()) token = arguments[++i];
    if (argument.starts_with(kFlag) && argument.substr(kFlag.size()).starts_with('=')) {
      token = arguments[i] + kFlag.size() + 1;
    }
    if (token != nullptr) std::memset(token, 'x', std::strlen(token));
  }
}

}  // namespace
}  // namespace rb::cli

// Only running out of memory throws this far, and ending is all there is to do then.
int main(int argc, char** argv) {  // NOLINT(bugprone-exception-escape)
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  rb::cli::HideToken({argv, static_cast<std::size_t>(argc)});
  const auto status = rb::cli::Main(arguments);
  if (status) return *status;
  std::cerr << "rdmactl: " << status.error().message << '\n';
  return rb::cli::ExitCodeOf(status.error());
}
