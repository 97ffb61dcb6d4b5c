// RDMA netlink that plays prepared answers.
//
// Header-only. Threading: thread-compatible.
#pragma once

#include <rdma/rdma_netlink.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "agent/rdma/netlink_attributes.h"
#include "agent/rdma/nldev.h"
#include "agent/rdma/nldev_decode.h"

namespace rb::agent::rdma {

class FakeNldev final : public Nldev {
 public:
  // Plays the answers of a command in order and repeats the last one; a command without an answer
  // is one that the kernel does not know.
  Result<NldevAnswer> Ask(const NldevRequest& request) override {
    requests.push_back(request);
    const auto found = answers_.find(request.command);
    if (found == answers_.end()) return Fail(ErrorCode::kInvalid, "ask rdma netlink");
    std::vector<Result<NldevAnswer>>& queue = found->second;
    if (queue.size() == 1) return queue.front();
    Result<NldevAnswer> first = std::move(queue.front());
    queue.erase(queue.begin());
    return first;
  }

  void Add(std::uint16_t command, Result<NldevAnswer> answer) {
    answers_[command].push_back(std::move(answer));
  }

  std::vector<NldevRequest> requests;

 private:
  std::map<std::uint16_t, std::vector<Result<NldevAnswer>>> answers_;
};

// One message of the answer to RDMA_NLDEV_CMD_GET. `kernel_node_type` is the kernel's number.
inline std::string EncodeDeviceRow(const DeviceRow& row, std::uint8_t kernel_node_type) {
  std::string bytes;
  PutNumber32(bytes, RDMA_NLDEV_ATTR_DEV_INDEX, row.index);
  PutText(bytes, RDMA_NLDEV_ATTR_DEV_NAME, row.name);
  PutNumber32(bytes, RDMA_NLDEV_ATTR_PORT_INDEX, row.port_count);
  PutNumber64(bytes, RDMA_NLDEV_ATTR_CAP_FLAGS, row.capability_flags);
  if (!row.firmware.empty()) PutText(bytes, RDMA_NLDEV_ATTR_FW_VERSION, row.firmware);
  PutNumber64(bytes, RDMA_NLDEV_ATTR_NODE_GUID, row.node_guid);
  PutNumber64(bytes, RDMA_NLDEV_ATTR_SYS_IMAGE_GUID, row.sys_image_guid);
  PutNumber8(bytes, RDMA_NLDEV_ATTR_DEV_NODE_TYPE, kernel_node_type);
  if (!row.protocol.empty()) PutText(bytes, RDMA_NLDEV_ATTR_DEV_PROTOCOL, row.protocol);
  return bytes;
}

// One message of the answer to RDMA_NLDEV_CMD_PORT_GET.
inline std::string EncodePortRow(const PortRow& row) {
  std::string bytes;
  PutNumber32(bytes, RDMA_NLDEV_ATTR_PORT_INDEX, row.number);
  PutNumber8(bytes, RDMA_NLDEV_ATTR_PORT_STATE, static_cast<std::uint8_t>(row.state));
  if (row.lid != 0) PutNumber32(bytes, RDMA_NLDEV_ATTR_LID, row.lid);
  if (row.sm_lid != 0) PutNumber32(bytes, RDMA_NLDEV_ATTR_SM_LID, row.sm_lid);
  if (!row.netdev.empty()) PutText(bytes, RDMA_NLDEV_ATTR_NDEV_NAME, row.netdev);
  return bytes;
}

// The answer to RDMA_NLDEV_CMD_GET_CHARDEV.
inline std::string EncodeCharDevice(const CharDevice& device) {
  std::string bytes;
  if (device.driver_id) {
    PutNumber32(bytes, RDMA_NLDEV_ATTR_UVERBS_DRIVER_ID, *device.driver_id);
  }
  // The kernel's dev_t on the wire: twelve bits of major, twenty of minor.
  PutNumber64(bytes, RDMA_NLDEV_ATTR_CHARDEV,
              std::uint64_t{device.minor & 0xff} | std::uint64_t{device.major} << 8 |
                  std::uint64_t{device.minor & ~0xffU} << 12);
  PutText(bytes, RDMA_NLDEV_ATTR_CHARDEV_NAME, device.name);
  return bytes;
}

}  // namespace rb::agent::rdma
