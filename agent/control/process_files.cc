#include "agent/control/process_files.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>

#include "common/runtime/process.h"

namespace rb::agent {
namespace {

std::optional<DeviceNumber> NumberOf(const struct stat& facts) {
  if (!S_ISCHR(facts.st_mode)) return std::nullopt;
  return DeviceNumber{.major = major(facts.st_rdev), .minor = minor(facts.st_rdev)};
}

}  // namespace

Result<std::vector<OpenFile>> LinuxProcessFiles::Find(pid_t pid,
                                                      const std::vector<DeviceNumber>& devices) {
  const std::string directory = "/proc/" + std::to_string(pid) + "/fd";
  std::error_code failed;
  std::filesystem::directory_iterator entries(directory, failed);
  if (failed) return FailErrno("list " + directory, failed.value());
  std::vector<OpenFile> files;
  for (; entries != std::filesystem::directory_iterator(); entries.increment(failed)) {
    if (failed) break;  // the process exits under us: what was found is what there is
    struct stat facts{};
    // The link is followed to the open file itself, whatever the tenant's mount namespace shows.
    if (::stat(entries->path().c_str(), &facts) != 0) continue;
    const auto number = NumberOf(facts);
    if (!number || std::ranges::find(devices, *number) == devices.end()) continue;
    const std::string name = entries->path().filename().string();
    int fd = -1;
    if (std::from_chars(name.data(), name.data() + name.size(), fd).ec == std::errc{}) {
      files.push_back({.fd = fd, .device = *number});
    }
  }
  return files;
}

Result<UniqueFd> LinuxProcessFiles::Take(pid_t pid, const OpenFile& file) {
  RB_TRY(const UniqueFd pidfd, OpenPidfd(pid));
  RB_TRY(UniqueFd taken, GetFdOf(pidfd.get(), file.fd));
  struct stat facts{};
  if (::fstat(taken.get(), &facts) != 0) return FailErrno("fstat", errno);
  if (NumberOf(facts) != file.device) {
    return Fail(ErrorCode::kNotFound, "fd " + std::to_string(file.fd) + " of pid " +
                                          std::to_string(pid) + ": another file by now");
  }
  return taken;
}

}  // namespace rb::agent
