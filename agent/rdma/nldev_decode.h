// What RDMA netlink's answers mean. Pure: bytes in, rows out.
//
// Unknown attributes are ignored and missing ones keep their default, as kernels differ; a message
// that lacks what names its object is kCorrupt.
// Threading: stateless.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/rdma/inventory.h"
#include "agent/rdma/nldev.h"
#include "agent/rdma/resources.h"
#include "common/base/result.h"

namespace rb::agent::rdma {

struct DeviceRow {
  std::uint32_t index = 0;
  std::string name;
  std::uint32_t port_count = 0;
  std::uint64_t capability_flags = 0;
  std::string firmware;
  std::uint64_t node_guid = 0;
  std::uint64_t sys_image_guid = 0;
  NodeType node_type = NodeType::kUnknown;
  std::string protocol;

  bool operator==(const DeviceRow&) const = default;
};

struct PortRow {
  std::uint32_t number = 0;
  PortState state = PortState::kNoChange;
  std::uint32_t lid = 0;
  std::uint32_t sm_lid = 0;
  std::string netdev;

  bool operator==(const PortRow&) const = default;
};

struct CharDevice {
  std::string name;  // "uverbs0"
  std::uint32_t major = 0;
  std::uint32_t minor = 0;
  std::optional<std::uint32_t> driver_id;  // absent: a driver that is bound by its PCI id

  bool operator==(const CharDevice&) const = default;
};

Result<std::vector<DeviceRow>> DecodeDevices(const NldevAnswer& answer);
Result<std::vector<PortRow>> DecodePorts(const NldevAnswer& answer);
Result<CharDevice> DecodeCharDevice(const NldevAnswer& answer);
// A kernel that does not say is in shared mode: it has no other.
Result<NetnsMode> DecodeNetnsMode(const NldevAnswer& answer);

// Rows are unique by their number, in the order of the answer.
Result<std::vector<ContextRow>> DecodeContexts(const NldevAnswer& answer,
                                               const std::string& device);
Result<std::vector<PdRow>> DecodePds(const NldevAnswer& answer);
Result<std::vector<QpRow>> DecodeQps(const NldevAnswer& answer);
Result<std::vector<CqRow>> DecodeCqs(const NldevAnswer& answer);
Result<std::vector<MrRow>> DecodeMrs(const NldevAnswer& answer);
Result<std::vector<SrqRow>> DecodeSrqs(const NldevAnswer& answer);
Result<ResourceCounts> DecodeSummary(const NldevAnswer& answer);

// "0250:56ff:fe00:0001", as sysfs prints it.
std::string FormatGuid(std::uint64_t guid);

}  // namespace rb::agent::rdma
