// Asks a device itself what it can hold: the part of the inventory that the kernel shows only to
// the owner of a verbs context.
//
// A port: VerbsDeviceQuery makes a context of the agent's own, asks, and closes it before it
// returns; that context never reaches a tenant. Tests use FakeDeviceQuery.
//
// Threading: thread-compatible. Blocks in driver code.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "agent/rdma/inventory.h"
#include "common/base/result.h"

namespace rb::agent::rdma {

struct PortMtu {
  std::uint32_t active_bytes = 0;
  std::uint32_t max_bytes = 0;

  bool operator==(const PortMtu&) const = default;
};

struct DeviceAnswer {
  DeviceLimits limits;
  std::map<std::uint32_t, PortMtu> mtus;  // by port number; a port that did not answer is missing

  bool operator==(const DeviceAnswer&) const = default;
};

class DeviceQuery {
 public:
  virtual ~DeviceQuery() = default;

  // Errors: kNotFound, no such device for libibverbs (gone, or no provider for its driver);
  //         kUnavailable, it would not open; kInternal.
  virtual Result<DeviceAnswer> Ask(const std::string& device) = 0;
};

// Through libibverbs, whose providers know what each driver wants in GET_CONTEXT.
class VerbsDeviceQuery final : public DeviceQuery {
 public:
  Result<DeviceAnswer> Ask(const std::string& device) override;
};

// Names of the set bits of a device's capability flags, in bit order; a bit that has no name here
// is "bit_17".
std::vector<std::string> CapabilityNames(std::uint64_t flags);

}  // namespace rb::agent::rdma
