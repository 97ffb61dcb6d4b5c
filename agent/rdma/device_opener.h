// Opens RDMA device nodes for workloads.
//
// A port: DeviceOpenerLinux below is the real one, tests/fakes/fake_rdma_device_opener.h the fake.
// It does not decide who may open a device, and it never makes a verbs context.
//
// Threading: safe; several pool threads open at once. Open() may block on the driver: not for the
// loop.
#pragma once

#include <string>

#include "common/bare/unique_fd.h"
#include "common/base/result.h"

namespace rb::agent::rdma {

class DeviceOpener {
 public:
  virtual ~DeviceOpener() = default;

  // Opens a fresh uverbs file for `device` (an RDMA link name, e.g. "mlx5_0"). It carries no
  // verbs context yet, so give it to exactly one process.
  //
  // Ownership: the caller owns the fd, which is read-write and close-on-exec.
  // Errors: kInvalid, not a device name; kNotFound, the device or its node is gone (hot-unplug is
  //         normal, not a bug); kUnavailable, the node is there but is not this device yet (udev
  //         has not caught up): retry with backoff; kDenied.
  virtual Result<UniqueFd> Open(const std::string& device) = 0;
};

// Finds the node through sysfs and believes only the device number, never the node's name.
class LinuxDeviceOpener final : public DeviceOpener {
 public:
  // "/sys" and "/dev" outside tests. `dev` holds infiniband/.
  LinuxDeviceOpener(std::string sysfs, std::string dev);

  Result<UniqueFd> Open(const std::string& device) override;

 private:
  const std::string sysfs_;
  const std::string dev_;
};

}  // namespace rb::agent::rdma
