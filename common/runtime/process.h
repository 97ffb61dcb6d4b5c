// pidfds: processes that cannot be mistaken for another one that got the same pid.
//
// The raw system calls (glibc 2.36 has no complete wrappers for them) live only here.
// Threading: stateless. Source: pidfd_open(2), pidfd_getfd(2), pidfd_send_signal(2).
#pragma once

#include <sys/types.h>

#include "common/bare/unique_fd.h"
#include "common/base/result.h"

namespace rb {

// A close-on-exec descriptor for the process; readable once it has exited.
// Errors: kNotFound, no such process (or `pid` is a thread, or not positive: kInvalid).
Result<UniqueFd> OpenPidfd(pid_t pid);

// A close-on-exec duplicate of descriptor `target_fd` of the process.
// Errors: kNotFound, the process or its descriptor is gone; kDenied, ptrace access is refused
// (Yama, SELinux); kUnsupported, a kernel before 5.6.
Result<UniqueFd> GetFdOf(int pidfd, int target_fd);

// Sends `signal` (0 only checks). Errors: kNotFound, the process has exited and was reaped.
Result<void> SendSignal(int pidfd, int signal);

}  // namespace rb
