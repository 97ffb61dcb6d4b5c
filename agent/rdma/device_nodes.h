// Takes the device nodes away from everybody but root: uverbs*, umad* and issm* to mode 0600.
//
// A tenant reaches a device only by a file that the agent opened; umad and issm would be ways
// round it. rdma_cm stays as it is: it creates no queue pair by itself. A udev rule does the same
// at a node's birth; this repairs nodes that were there before or whose rule is missing.
//
// Threading: thread-compatible.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/result.h"

namespace rb::agent::rdma {

struct NodeChange {
  std::string name;               // "uverbs0"
  std::uint32_t mode_before = 0;  // permission bits
  std::uint32_t uid_before = 0;
  std::uint32_t gid_before = 0;

  bool operator==(const NodeChange&) const = default;
};

class DeviceNodes {
 public:
  virtual ~DeviceNodes() = default;

  // Makes every such node root's with mode 0600 and returns those that were not. Doing it again
  // changes nothing. A node that vanishes meanwhile is skipped; no directory means no nodes.
  // Errors: kDenied, not root. Nodes before the failing one have been changed.
  virtual Result<std::vector<NodeChange>> Restrict() = 0;
};

class LinuxDeviceNodes final : public DeviceNodes {
 public:
  // "/dev" outside tests.
  explicit LinuxDeviceNodes(std::string dev);

  Result<std::vector<NodeChange>> Restrict() override;

 private:
  const std::string dev_;
};

}  // namespace rb::agent::rdma
