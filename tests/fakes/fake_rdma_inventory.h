// An inventory served from memory, and events that a test fires.
//
// Header-only. Threading: thread-compatible.
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "agent/rdma/events.h"
#include "agent/rdma/inventory.h"
#include "agent/rdma/query_device.h"
#include "common/bare/unique_fd.h"

namespace rb::agent::rdma {

// A software RoCE device with one active port and one RoCE v2 GID, on uverbs`number`.
inline Device FakeRxeDevice(std::uint32_t number = 0) {
  const std::string digit = std::to_string(number);
  const Gid gid{.index = 1,
                .gid = "0000:0000:0000:0000:0000:ffff:0a00:00" + std::to_string(10 + number % 90),
                .type = "RoCE v2",
                .netdev = "veth" + digit};
  const Port port{.number = 1,
                  .state = PortState::kActive,
                  .physical_state = "linkup",
                  .link_layer = LinkLayer::kEthernet,
                  .rate_bits_per_second = 2'500'000'000,
                  .active_mtu_bytes = 1024,
                  .max_mtu_bytes = 4096,
                  .lid = 0,
                  .sm_lid = 0,
                  .netdev = "veth" + digit,
                  .gid_table_length = 1024,
                  .gids = {gid}};
  Device device;
  device.name = "rxe" + digit;
  device.index = number;
  device.uverbs = "uverbs" + digit;
  device.major = 231;
  device.minor = 192 + number;
  device.driver = "rxe";
  device.driver_id = 14;
  device.protocol = "roce";
  device.node_type = NodeType::kChannelAdapter;
  device.node_guid = "0200:00ff:fe00:000" + digit;
  device.sys_image_guid = device.node_guid;
  device.limits = DeviceLimits{};
  device.limits->max_qp = 1'000'000;
  device.limits->max_cq = 1'000'000;
  device.limits->max_mr = 524'287;
  device.limits->max_pd = 1'000'000;
  device.ports = {port};
  return device;
}

class FakeInventory final : public InventoryReader {
 public:
  Result<Inventory> Read() override {
    ++reads;
    if (error) return tl::unexpected<Error>(*error);
    return inventory;
  }

  Inventory inventory;
  std::optional<Error> error;  // set: Read() fails with it
  int reads = 0;
};

// Its descriptor is readable while a fired change has not been drained.
class FakeInventoryEvents final : public InventoryEvents {
 public:
  FakeInventoryEvents() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

  int fd() const override { return fd_.get(); }

  Result<InventoryChange> Drain() override {
    std::uint64_t count = 0;
    (void)!::read(fd_.get(), &count, sizeof(count));
    return std::exchange(pending_, {});
  }

  void Fire(InventoryChange change) {
    pending_.devices |= change.devices;
    pending_.ports |= change.ports;
    constexpr std::uint64_t kOne = 1;
    (void)!::write(fd_.get(), &kOne, sizeof(kOne));
  }

 private:
  UniqueFd fd_;
  InventoryChange pending_;
};

// Answers the same for every device.
class FakeDeviceQuery final : public DeviceQuery {
 public:
  Result<DeviceAnswer> Ask(const std::string& device) override {
    ++asked;
    if (!answer) return Fail(ErrorCode::kUnavailable, "open rdma device " + device);
    return *answer;
  }

  std::optional<DeviceAnswer> answer = DeviceAnswer{};  // empty: the device will not open
  int asked = 0;
};

}  // namespace rb::agent::rdma
