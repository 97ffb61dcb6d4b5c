#include "cli/linux_workload.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <vector>

#include "cli/enter.h"
#include "cli/exit_code.h"
#include "cli/sandbox_linux.h"

namespace rb::cli {
namespace {

// SIGCHLD is here to wake the poll; the others are passed on.
constexpr std::array kSignals{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCHLD};

// The child's last words: code, reason, NUL, message.
constexpr std::size_t kReportBytesMax = 4096;

std::string Pack(const Error& error) {
  std::string report(1, static_cast<char>(error.code));
  report += error.reason;
  report += '\0';
  report += error.message;
  report.resize(std::min(report.size(), kReportBytesMax));
  return report;
}

Error Unpack(const std::string& report) {
  const std::size_t end = std::min(report.find('\0', 1), report.size());
  return {.code = static_cast<ErrorCode>(report.front()),
          .message = end < report.size() ? report.substr(end + 1) : "",
          .reason = report.substr(1, end - 1)};
}

// Everything up to the end of file, which exec brings by closing the child's end.
std::string ReadReport(int pipe) {
  std::string report;
  std::array<char, 512> buffer{};
  while (true) {
    const ssize_t got = ::read(pipe, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return report;
    report.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

std::vector<char*> Pointers(std::vector<std::string>* texts) {
  std::vector<char*> pointers;
  for (std::string& text : *texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Returns only when it failed.
Error Execute(const WorkloadPlan& plan) {
  std::vector<std::string> arguments = plan.command;
  std::vector<std::string> variables;
  for (const auto& [name, value] : plan.environment) variables.push_back(name + "=" + value);
  ::execvpe(arguments.front().c_str(), Pointers(&arguments).data(), Pointers(&variables).data());
  const int error = errno;
  Error failure = FailErrno("run " + plan.command.front(), error).value();
  failure.reason = error == ENOENT ? kReasonNoCommand : kReasonCannotExecute;
  return failure;
}

// The loader only warns about a preload it cannot read, and the program would find no device.
Result<void> CheckShim(const std::string& shim) {
  if (::access(shim.c_str(), R_OK) == 0) return {};
  return FailErrno("preload " + shim + " as user " + std::to_string(::getuid()), errno);
}

Result<void> Prepare(const WorkloadPlan& plan, const std::string& token, pid_t parent) {
  if (plan.hide_devices) {
    RB_TRY_VOID(HideDevices(plan.rdma_cm));
  }
  if (plan.change_user) {
    RB_TRY_VOID(BecomeUser(plan.uid, plan.gid));
  }
  RB_TRY_VOID(ForbidNewPrivileges());
  RB_TRY_VOID(DieWithParent(parent));
  RB_TRY_VOID(CheckShim(plan.shim));
  const auto entered = EnterLease(plan.agent_socket, token);
  if (!entered) return tl::unexpected<Error>(entered.error());
  return {};
}

[[noreturn]] void RunChild(const WorkloadPlan& plan, const std::string& token, pid_t parent,
                           const sigset_t& signals, int report) {
  const auto prepared = Prepare(plan, token, parent);
  ::pthread_sigmask(SIG_SETMASK, &signals, nullptr);
  const Error failure = prepared ? Execute(plan) : prepared.error();
  const std::string packed = Pack(failure);
  // A pipe takes this much whole; when even that fails, the exit status says that it failed.
  const ssize_t written = ::write(report, packed.data(), packed.size());
  ::_exit(written > 0 ? kExitFailed : kExitCannotExecute);
}

int ExitStatus(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

LinuxWorkload::~LinuxWorkload() {
  if (child_ <= 0) return;
  ::kill(child_, SIGKILL);
  (void)Reap(0);
}

Result<void> LinuxWorkload::HoldSignals() {
  sigset_t held;
  ::sigemptyset(&held);
  for (const int signal : kSignals) ::sigaddset(&held, signal);
  const int failed = ::pthread_sigmask(SIG_BLOCK, &held, &signals_before_);
  if (failed != 0) return FailErrno("block signals", failed);
  signals_.Reset(::signalfd(-1, &held, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals_) return FailErrno("create signalfd", errno);
  return {};
}

Result<void> LinuxWorkload::Start(const WorkloadPlan& plan, const std::string& token) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return FailErrno("create pipe", errno);
  const UniqueFd read_end(ends[0]);
  UniqueFd write_end(ends[1]);
  const pid_t parent = ::getpid();
  child_ = ::fork();
  if (child_ < 0) return FailErrno("fork", errno);
  if (child_ == 0) RunChild(plan, token, parent, signals_before_, write_end.get());
  write_end.Reset();
  const std::string report = ReadReport(read_end.get());
  if (report.empty()) return {};
  (void)Reap(0);
  return tl::unexpected<Error>(Unpack(report));
}

Result<std::optional<int>> LinuxWorkload::Wait(std::chrono::milliseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  while (true) {
    RB_TRY(const std::optional<int> status, Reap(WNOHANG));
    if (status) return status;
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) return std::nullopt;
    pollfd entry{.fd = signals_.get(), .events = POLLIN, .revents = 0};
    if (::poll(&entry, 1, static_cast<int>(left.count())) < 0 && errno != EINTR) {
      return FailErrno("wait for the command", errno);
    }
    PassSignalsOn();
  }
}

void LinuxWorkload::Pause(std::chrono::milliseconds time) {
  (void)::poll(nullptr, 0, static_cast<int>(time.count()));
}

Result<std::optional<int>> LinuxWorkload::Reap(int flags) {
  int status = 0;
  pid_t reaped = 0;
  do {
    reaped = ::waitpid(child_, &status, flags);
  } while (reaped < 0 && errno == EINTR);
  if (reaped < 0) return FailErrno("wait for the command", errno);
  if (reaped == 0) return std::nullopt;
  child_ = -1;
  return ExitStatus(status);
}

void LinuxWorkload::PassSignalsOn() const {
  signalfd_siginfo info{};
  while (::read(signals_.get(), &info, sizeof(info)) == sizeof(info)) {
    const auto signal = static_cast<int>(info.ssi_signo);
    // si_code > 0 is the kernel: the terminal sent it to the whole group, the command included.
    if (signal != SIGCHLD && info.ssi_code <= 0) ::kill(child_, signal);
  }
}

}  // namespace rb::cli
