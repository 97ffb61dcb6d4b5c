// Reads the inventory from RDMA netlink, sysfs and, for limits, from the device itself.
//
// What a device says about itself is kept until the device is re-added or a port's state or MTU
// changes: asking costs a verbs context, and on a busy node addresses change all the time.
//
// Threading: thread-compatible.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/rdma/inventory.h"
#include "agent/rdma/nldev.h"
#include "agent/rdma/nldev_decode.h"
#include "agent/rdma/query_device.h"

namespace rb::agent::rdma {

class LinuxInventoryReader final : public InventoryReader {
 public:
  // Both outlive this. `sysfs` is "/sys" outside tests.
  LinuxInventoryReader(Nldev& nldev, DeviceQuery& query, std::string sysfs);

  Result<Inventory> Read() override;

 private:
  struct Kept {
    std::string circumstances;  // what the answer depends on: device index, port states, MTUs
    std::optional<DeviceAnswer> answer;
  };

  Result<Device> ReadDevice(const DeviceRow& row);
  Result<std::vector<Port>> ReadPorts(const DeviceRow& row);
  Result<CharDevice> ReadNode(const DeviceRow& row);
  void AddAnswer(Device& device);

  Nldev& nldev_;
  DeviceQuery& query_;
  const std::string sysfs_;
  std::map<std::string, Kept> kept_;  // by device name
};

// The kernel's name for a uverbs driver id, "mlx5"; empty for a number not known here.
std::string_view DriverName(std::uint32_t driver_id);

// The driver id of a driver that RDMA netlink states none for, by the name of the driver of the
// device below it. 0 (the kernel's "unknown") for any other.
std::uint32_t DriverIdOfParent(std::string_view parent_driver);

}  // namespace rb::agent::rdma
