#include "agent/rdma/inventory.h"

#include <algorithm>

namespace rb::agent::rdma {

std::string_view Name(PortState state) {
  switch (state) {
    case PortState::kNoChange:
      return "unknown";
    case PortState::kDown:
      return "down";
    case PortState::kInit:
      return "init";
    case PortState::kArmed:
      return "armed";
    case PortState::kActive:
      return "active";
    case PortState::kActiveDefer:
      return "active_defer";
  }
  return "unknown";
}

std::string_view Name(LinkLayer layer) {
  switch (layer) {
    case LinkLayer::kUnspecified:
      return "unspecified";
    case LinkLayer::kInfiniband:
      return "infiniband";
    case LinkLayer::kEthernet:
      return "ethernet";
  }
  return "unspecified";
}

std::string_view Name(NodeType type) {
  switch (type) {
    case NodeType::kUnknown:
      return "unknown";
    case NodeType::kChannelAdapter:
      return "ca";
    case NodeType::kSwitch:
      return "switch";
    case NodeType::kRouter:
      return "router";
    case NodeType::kRnic:
      return "rnic";
    case NodeType::kUsnic:
      return "usnic";
  }
  return "unknown";
}

std::string_view Name(NetnsMode mode) {
  return mode == NetnsMode::kShared ? "shared" : "exclusive";
}

const Device* Inventory::Find(std::string_view name) const {
  const auto found = std::ranges::find(devices, name, &Device::name);
  return found == devices.end() ? nullptr : &*found;
}

const Device* Inventory::FindByNode(std::uint32_t major, std::uint32_t minor) const {
  const auto found = std::ranges::find_if(devices, [major, minor](const Device& device) {
    return !device.uverbs.empty() && device.major == major && device.minor == minor;
  });
  return found == devices.end() ? nullptr : &*found;
}

}  // namespace rb::agent::rdma
