#include "agent/rdma/resources_linux.h"

#include <rdma/rdma_netlink.h>

#include <algorithm>

#include "agent/rdma/netlink_attributes.h"
#include "agent/rdma/nldev_decode.h"

namespace rb::agent::rdma {

Result<std::uint32_t> LinuxResources::IndexOf(const std::string& device) {
  const NldevRequest request{.command = RDMA_NLDEV_CMD_GET, .dump = true, .attributes = {}};
  RB_TRY(const NldevAnswer answer, nldev_.Ask(request));
  RB_TRY(const std::vector<DeviceRow> rows, DecodeDevices(answer));
  const auto found = std::ranges::find(rows, device, &DeviceRow::name);
  if (found == rows.end()) {
    return Fail(ErrorCode::kNotFound, "find rdma device " + device + ": there is none");
  }
  return found->index;
}

Result<NldevAnswer> LinuxResources::Ask(const std::string& device, std::uint16_t command,
                                        Scope scope) {
  RB_TRY(const std::uint32_t index, IndexOf(device));
  NldevRequest request{.command = command, .dump = scope == Scope::kTable, .attributes = {}};
  PutNumber32(request.attributes, RDMA_NLDEV_ATTR_DEV_INDEX, index);
  auto answer = nldev_.Ask(request);
  if (answer || answer.error().code != ErrorCode::kInvalid) return answer;
  // EINVAL is what the kernel says both to a command it does not know and to a device that has
  // just gone. Is the device still there?
  RB_TRY(const std::uint32_t index_now, IndexOf(device));
  if (index_now != index) {
    return Fail(ErrorCode::kUnavailable, "read resources of " + device + ": it was re-added");
  }
  return Fail(ErrorCode::kUnsupported,
              "read resources of " + device + ": this kernel has no such table");
}

Result<std::vector<ContextRow>> LinuxResources::Contexts(const std::string& device) {
  RB_TRY(const NldevAnswer answer, Ask(device, RDMA_NLDEV_CMD_RES_CTX_GET, Scope::kTable));
  return DecodeContexts(answer, device);
}

Result<std::vector<PdRow>> LinuxResources::Pds(const std::string& device) {
  RB_TRY(const NldevAnswer answer, Ask(device, RDMA_NLDEV_CMD_RES_PD_GET, Scope::kTable));
  return DecodePds(answer);
}

Result<std::vector<QpRow>> LinuxResources::Qps(const std::string& device) {
  RB_TRY(const NldevAnswer answer, Ask(device, RDMA_NLDEV_CMD_RES_QP_GET, Scope::kTable));
  return DecodeQps(answer);
}

Result<std::vector<CqRow>> LinuxResources::Cqs(const std::string& device) {
  RB_TRY(const NldevAnswer answer, Ask(device, RDMA_NLDEV_CMD_RES_CQ_GET, Scope::kTable));
  return DecodeCqs(answer);
}

Result<std::vector<MrRow>> LinuxResources::Mrs(const std::string& device) {
  RB_TRY(const NldevAnswer answer, Ask(device, RDMA_NLDEV_CMD_RES_MR_GET, Scope::kTable));
  return DecodeMrs(answer);
}

Result<std::vector<SrqRow>> LinuxResources::Srqs(const std::string& device) {
  RB_TRY(const NldevAnswer answer, Ask(device, RDMA_NLDEV_CMD_RES_SRQ_GET, Scope::kTable));
  return DecodeSrqs(answer);
}

Result<ResourceCounts> LinuxResources::Summary(const std::string& device) {
  RB_TRY(const NldevAnswer answer, Ask(device, RDMA_NLDEV_CMD_RES_GET, Scope::kOne));
  return DecodeSummary(answer);
}

}  // namespace rb::agent::rdma
