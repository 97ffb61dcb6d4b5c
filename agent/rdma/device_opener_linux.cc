#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cerrno>
#include <utility>

#include "agent/rdma/device_opener.h"
#include "agent/rdma/sysfs_device.h"

namespace rb::agent::rdma {

LinuxDeviceOpener::LinuxDeviceOpener(std::string sysfs, std::string dev)
    : sysfs_(std::move(sysfs)), dev_(std::move(dev)) {}

Result<UniqueFd> LinuxDeviceOpener::Open(const std::string& device) {
  if (!IsDeviceName(device)) return Fail(ErrorCode::kInvalid, "open device: not a device name");
  RB_TRY(const SysfsNode node, FindUverbsNode(sysfs_, device));
  const std::string path = dev_ + "/infiniband/" + node.name;
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (!fd && errno == ENOENT) {
    return Fail(ErrorCode::kUnavailable, "open " + path + ": the node is not there yet");
  }
  if (!fd) return FailErrno("open " + path, errno);

  // Number and name part ways when a device was re-added and udev lags, or when somebody made the
  // node by hand: only the number says which device this file is.
  struct stat status{};
  if (::fstat(fd.get(), &status) != 0) return FailErrno("stat " + path, errno);
  if (!S_ISCHR(status.st_mode) || status.st_rdev != ::makedev(node.major, node.minor)) {
    return Fail(ErrorCode::kUnavailable, "open " + path + ": it is not the node of " + device);
  }
  return fd;
}

}  // namespace rb::agent::rdma
