// Reads the inventory from RDMA netlink, sysfs and, for limits, from the device itself.
//
// Limits and capability flags exist only behind a verbs context, so each device is opened once for
// a moment with a context of the agent's own; the answer is kept until the device is re-added or a
// port's state or MTU changes. That context is never given to a tenant and is closed before Read()
// returns.
//
// Threading: thread-compatible.
#pragma once

#include <map>
#include <string>

#include "agent/rdma/device_opener.h"
#include "agent/rdma/inventory.h"
#include "agent/rdma/query_device.h"

namespace rb::agent::rdma {

class LinuxInventoryReader final : public InventoryReader {
 public:
  // `opener` outlives this. `sysfs` is "/sys" outside tests.
  LinuxInventoryReader(DeviceOpener& opener, std::string sysfs);

  Result<Inventory> Read() override;

 private:
  struct Cached {
    std::string question;  // what the answer depends on: device index, port states, MTUs
    DeviceAnswer answer;
  };

  void AddWhatTheDeviceSays(Device& device);

  DeviceOpener& opener_;
  const std::string sysfs_;
  std::map<std::string, Cached> answers_;  // by device name
};

}  // namespace rb::agent::rdma
