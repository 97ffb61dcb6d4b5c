// What sysfs alone knows about RDMA devices: GID tables, rates, link layers, the PCI side.
//
// Works on a directory, so tests give it a tree of files. Files that a driver does not have leave
// their field at its default; a device that is gone gives an empty answer.
// Threading: stateless.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/rdma/inventory.h"
#include "common/base/result.h"

namespace rb::agent::rdma {

struct SysfsDevice {
  std::string board_id;
  std::string parent_driver;  // of the PCI (or other) device below it: "mlx5_core"; may be empty
  std::string pci_address;    // empty when the device below is not a PCI function
  std::optional<int> numa_node;

  bool operator==(const SysfsDevice&) const = default;
};

struct SysfsPort {
  std::string physical_state;
  LinkLayer link_layer = LinkLayer::kUnspecified;
  std::uint64_t rate_bits_per_second = 0;
  std::uint32_t gid_table_length = 0;
  std::vector<Gid> gids;

  bool operator==(const SysfsPort&) const = default;
};

// A uverbs node's number as sysfs states it.
struct SysfsNode {
  std::string name;  // "uverbs0"
  std::uint32_t major = 0;
  std::uint32_t minor = 0;

  bool operator==(const SysfsNode&) const = default;
};

SysfsDevice ReadSysfsDevice(const std::string& sysfs, const std::string& device);
SysfsPort ReadSysfsPort(const std::string& sysfs, const std::string& device, std::uint32_t port);
// The MTU of an interface; 0 when there is none of this name.
std::uint32_t ReadInterfaceMtu(const std::string& sysfs, const std::string& interface);

// The uverbs node of `device`. Errors: kNotFound, the device is gone or has no user verbs.
Result<SysfsNode> FindUverbsNode(const std::string& sysfs, const std::string& device);

// "100 Gb/sec (4X EDR)" -> 100'000'000'000. Anything else: 0.
std::uint64_t ParseRate(std::string_view text);
// "231:192" -> {231, 192}. Errors: kCorrupt.
Result<std::pair<std::uint32_t, std::uint32_t>> ParseDeviceNumber(std::string_view text);

// Whether `name` can be an RDMA device's name: it becomes part of a path, so no '/' and no "..".
bool IsDeviceName(std::string_view name);

}  // namespace rb::agent::rdma
