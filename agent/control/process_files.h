// The open device files of other processes: found in /proc/PID/fd, taken with pidfd_getfd.
//
// Nothing is kept: a held duplicate would keep a dead tenant's pinned memory alive.
// Threading: thread-compatible; not for the loop (a process may hold a million descriptors).
// Source: proc(5), pidfd_getfd(2).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "common/bare/unique_fd.h"
#include "common/base/result.h"

namespace rb::agent {

struct DeviceNumber {
  std::uint32_t major = 0;
  std::uint32_t minor = 0;
  auto operator<=>(const DeviceNumber&) const = default;
};

struct OpenFile {
  int fd = -1;  // the number in that process
  DeviceNumber device;
  bool operator==(const OpenFile&) const = default;
};

class ProcessFiles {
 public:
  virtual ~ProcessFiles() = default;

  // The process's descriptors that are one of `devices`. Two of them may be the same file (dup).
  // Errors: kNotFound, the process is gone.
  virtual Result<std::vector<OpenFile>> Find(pid_t pid,
                                             const std::vector<DeviceNumber>& devices) = 0;

  // A duplicate of the process's descriptor; the caller owns it and closes it soon. Checks that it
  // still is `file.device`: the process may have closed it and opened another. Errors: kNotFound,
  // gone meanwhile; kDenied, ptrace access is refused (Yama, SELinux).
  virtual Result<UniqueFd> Take(pid_t pid, const OpenFile& file) = 0;
};

class LinuxProcessFiles final : public ProcessFiles {
 public:
  Result<std::vector<OpenFile>> Find(pid_t pid, const std::vector<DeviceNumber>& devices) override;
  Result<UniqueFd> Take(pid_t pid, const OpenFile& file) override;
};

}  // namespace rb::agent
