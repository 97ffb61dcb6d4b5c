// Asks a device itself what it can hold: the part of the inventory that sysfs does not show.
//
// Makes a verbs context of the agent's own on a fresh file, asks, and lets it go. Such a file must
// never be handed to a tenant.
//
// Threading: stateless. Blocks in driver code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "agent/rdma/inventory.h"
#include "common/bare/unique_fd.h"
#include "common/base/result.h"

namespace rb::agent::rdma {

struct PortMtu {
  std::uint32_t active_bytes = 0;
  std::uint32_t max_bytes = 0;

  bool operator==(const PortMtu&) const = default;
};

struct DeviceAnswer {
  DeviceLimits limits;
  std::vector<std::string> capabilities;
  std::map<std::uint32_t, PortMtu> mtus;  // by port number; a port that did not answer is missing

  bool operator==(const DeviceAnswer&) const = default;
};

// Decodes the kernel's answer to QUERY_DEVICE. Errors: kCorrupt, too short.
Result<DeviceAnswer> DecodeQueryDevice(std::span<const std::byte> response);

// Names of the set bits of device_cap_flags, in bit order; a bit without a name is "bit_17".
std::vector<std::string> CapabilityNames(std::uint64_t flags);

}  // namespace rb::agent::rdma
