#include "common/runtime/process.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace rb {

Result<UniqueFd> OpenPidfd(pid_t pid) {
  UniqueFd fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!fd) return FailErrno("open pidfd of " + std::to_string(pid), errno);
  return fd;
}

Result<UniqueFd> GetFdOf(int pidfd, int target_fd) {
  UniqueFd fd(static_cast<int>(::syscall(SYS_pidfd_getfd, pidfd, target_fd, 0)));
  if (fd) return fd;
  const int error = errno;
  const std::string what = "take fd " + std::to_string(target_fd) + " of a process";
  if (error == EBADF) return Fail(ErrorCode::kNotFound, what + ": it is closed there");
  return FailErrno(what, error);
}

Result<void> SendSignal(int pidfd, int signal) {
  if (::syscall(SYS_pidfd_send_signal, pidfd, signal, nullptr, 0) != 0) {
    return FailErrno("send signal " + std::to_string(signal), errno);
  }
  return {};
}

}  // namespace rb
