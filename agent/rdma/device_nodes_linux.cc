#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "agent/rdma/device_nodes.h"
#include "common/base/files.h"

namespace rb::agent::rdma {
namespace {

constexpr mode_t kRootOnly = 0600;
constexpr mode_t kPermissionBits = 07777;

bool IsWayToADevice(std::string_view name) {
  constexpr std::array<std::string_view, 3> kPrefixes{"uverbs", "umad", "issm"};
  return std::ranges::any_of(kPrefixes,
                             [name](std::string_view prefix) { return name.starts_with(prefix); });
}

// What the node was, when it had to be changed. Acts on the node that it looked at, by descriptor:
// the name can mean another one a moment later.
Result<std::optional<NodeChange>> RestrictOne(int directory, const std::string& name) {
  const UniqueFd fd(::openat(directory, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (!fd && errno == ENOENT) return std::nullopt;
  if (!fd) return FailErrno("open node " + name, errno);
  struct stat status{};
  if (::fstat(fd.get(), &status) != 0) return FailErrno("stat node " + name, errno);
  if (!S_ISCHR(status.st_mode)) return std::nullopt;
  if ((status.st_mode & kPermissionBits) == kRootOnly && status.st_uid == 0 && status.st_gid == 0) {
    return std::nullopt;
  }
  // An O_PATH descriptor takes no fchmod; its entry in /proc does.
  const std::string path = "/proc/self/fd/" + std::to_string(fd.get());
  if (::chmod(path.c_str(), kRootOnly) != 0) return FailErrno("change mode of node " + name, errno);
  if (::fchownat(fd.get(), "", 0, 0, AT_EMPTY_PATH) != 0) {
    return FailErrno("change owner of node " + name, errno);
  }
  return NodeChange{.name = name,
                    .mode_before = status.st_mode & kPermissionBits,
                    .uid_before = status.st_uid,
                    .gid_before = status.st_gid};
}

}  // namespace

LinuxDeviceNodes::LinuxDeviceNodes(std::string dev) : dev_(std::move(dev)) {}

Result<std::vector<NodeChange>> LinuxDeviceNodes::Restrict() {
  const std::string path = dev_ + "/infiniband";
  auto directory = OpenDirectory(path);
  if (!directory && directory.error().code == ErrorCode::kNotFound) {
    return std::vector<NodeChange>{};
  }
  RB_TRY(const UniqueFd held, std::move(directory));

  std::vector<NodeChange> changes;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(path, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!IsWayToADevice(name)) continue;
    RB_TRY(std::optional<NodeChange> change, RestrictOne(held.get(), name));
    if (change) changes.push_back(std::move(*change));
  }
  if (error) return FailErrno("list " + path, error.value());
  std::ranges::sort(changes, {}, &NodeChange::name);
  return changes;
}

}  // namespace rb::agent::rdma
