#include "agent/rdma/uverbs_ioctl.h"

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>

#include <algorithm>
#include <cstring>
#include <limits>

namespace rb::agent::rdma {
namespace {

static_assert(sizeof(ib_uverbs_ioctl_hdr) == 24);
static_assert(sizeof(ib_uverbs_attr) == 16);
static_assert(sizeof(ib_uverbs_query_qp) == kQueryQpRequestBytes);
static_assert(sizeof(ib_uverbs_query_qp_resp) == kQueryQpResponseBytes);
static_assert(sizeof(ib_uverbs_modify_qp) == kModifyQpRequestBytes);

// enum ib_qp_attr_mask, which user headers have only in libibverbs.
constexpr std::uint32_t kMaskState = 1U << 0;
constexpr std::uint32_t kMaskPkeyIndex = 1U << 4;
constexpr std::uint32_t kMaskPort = 1U << 5;
constexpr std::uint32_t kMaskAddressVector = 1U << 7;
constexpr std::uint32_t kMaskDestQpn = 1U << 20;

std::uint64_t AddressOf(const void* data) {
  return static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(data));
}

UverbsCommand WriteCommand(std::uint32_t driver_id, std::uint64_t command) {
  UverbsCommand encoded(driver_id, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE);
  encoded.AddValue(UVERBS_ATTR_WRITE_CMD, sizeof(std::uint64_t), command);
  return encoded;
}

}  // namespace

UverbsCommand::UverbsCommand(std::uint32_t driver_id, std::uint16_t object, std::uint16_t method) {
  ib_uverbs_ioctl_hdr header{};
  header.length = sizeof(header);
  header.object_id = object;
  header.method_id = method;
  header.driver_id = driver_id;
  bytes_.resize(sizeof(header));
  std::memcpy(bytes_.data(), &header, sizeof(header));
}

void UverbsCommand::Add(std::uint16_t attribute, std::uint16_t length, std::uint64_t data) {
  ib_uverbs_attr encoded{};
  encoded.attr_id = attribute;
  encoded.len = length;
  encoded.flags = UVERBS_ATTR_F_MANDATORY;
  encoded.data = data;
  const std::size_t at = bytes_.size();
  bytes_.resize(at + sizeof(encoded));
  std::memcpy(bytes_.data() + at, &encoded, sizeof(encoded));

  ib_uverbs_ioctl_hdr header{};
  std::memcpy(&header, bytes_.data(), sizeof(header));
  header.length = static_cast<std::uint16_t>(bytes_.size());
  ++header.num_attrs;
  std::memcpy(bytes_.data(), &header, sizeof(header));
}

UverbsCommand& UverbsCommand::AddValue(std::uint16_t attribute, std::uint16_t bytes,
                                       std::uint64_t value) {
  Add(attribute, bytes, value);
  return *this;
}

UverbsCommand& UverbsCommand::AddBuffer(std::uint16_t attribute, const void* data,
                                        std::size_t bytes) {
  RB_CHECK(bytes <= std::numeric_limits<std::uint16_t>::max());
  Add(attribute, static_cast<std::uint16_t>(bytes), AddressOf(data));
  return *this;
}

UverbsCommand EncodeListHandles(std::uint32_t driver_id, std::uint16_t object,
                                std::span<std::uint32_t> handles, std::uint32_t& total) {
  UverbsCommand command(driver_id, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INFO_HANDLES);
  command.AddValue(UVERBS_ATTR_INFO_OBJECT_ID, sizeof(std::uint64_t), object);
  // Exactly 4 bytes: the kernel refuses 8 although it counts in 64 bits.
  command.AddBuffer(UVERBS_ATTR_INFO_TOTAL_HANDLES, &total, sizeof(total));
  command.AddBuffer(UVERBS_ATTR_INFO_HANDLES_LIST, handles.data(), handles.size_bytes());
  return command;
}

UverbsCommand EncodeDestroy(std::uint32_t driver_id, const ObjectKind& kind, std::uint32_t handle,
                            std::uint64_t& response) {
  // Every destroy method's first attribute is the handle; a driver's method counts from the start
  // of the driver's own numbers.
  constexpr std::uint16_t kDriverNumbers = 1U << UVERBS_ID_NS_SHIFT;
  const std::uint16_t handle_attribute = kind.destroy_method & kDriverNumbers;
  UverbsCommand command(driver_id, kind.object_id, kind.destroy_method);
  command.AddValue(handle_attribute, 0, handle);
  if (kind.response_bytes != 0) {
    constexpr std::uint16_t kResponse = 1;  // UVERBS_ATTR_DESTROY_{CQ,QP,SRQ,WQ}_RESP
    command.AddBuffer(kResponse, &response, kind.response_bytes);
  }
  return command;
}

UverbsCommand EncodeSetQpError(std::uint32_t driver_id, std::uint32_t qp_handle,
                               std::array<std::byte, kModifyQpRequestBytes>& request) {
  ib_uverbs_modify_qp modify{};
  modify.qp_handle = qp_handle;
  modify.attr_mask = kMaskState;
  modify.qp_state = static_cast<std::uint8_t>(QpState::kError);
  std::memcpy(request.data(), &modify, sizeof(modify));
  UverbsCommand command = WriteCommand(driver_id, IB_USER_VERBS_CMD_MODIFY_QP);
  command.AddBuffer(UVERBS_ATTR_CORE_IN, request.data(), request.size());
  return command;
}

UverbsCommand EncodeQueryQp(std::uint32_t driver_id, std::uint32_t qp_handle,
                            std::array<std::byte, kQueryQpRequestBytes>& request,
                            std::array<std::byte, kQueryQpResponseBytes>& response) {
  ib_uverbs_query_qp query{};
  query.qp_handle = qp_handle;
  query.attr_mask = kMaskState | kMaskPkeyIndex | kMaskPort | kMaskAddressVector | kMaskDestQpn;
  std::memcpy(request.data(), &query, sizeof(query));
  UverbsCommand command = WriteCommand(driver_id, IB_USER_VERBS_CMD_QUERY_QP);
  command.AddBuffer(UVERBS_ATTR_CORE_IN, request.data(), request.size());
  command.AddBuffer(UVERBS_ATTR_CORE_OUT, response.data(), response.size());
  return command;
}

QpInfo DecodeQueryQp(const std::array<std::byte, kQueryQpResponseBytes>& response) {
  ib_uverbs_query_qp_resp raw{};
  std::memcpy(&raw, response.data(), sizeof(raw));
  QpInfo info;
  if (raw.qp_state <= static_cast<std::uint8_t>(QpState::kError)) {
    info.state = static_cast<QpState>(raw.qp_state);
  }
  info.dest_qpn = raw.dest_qp_num;
  info.pkey_index = raw.pkey_index;
  info.port = raw.port_num;
  info.traffic_class = raw.dest.traffic_class;
  info.service_level = raw.dest.sl;
  info.static_rate = raw.dest.static_rate;
  info.sgid_index = raw.dest.sgid_index;
  info.flow_label = raw.dest.flow_label;
  std::memcpy(info.dgid.data(), static_cast<const void*>(raw.dest.dgid), info.dgid.size());
  // A path has a destination: a GID on RoCE and between subnets, else a LID.
  info.has_path = raw.dest.dlid != 0 ||
                  std::ranges::any_of(info.dgid, [](std::uint8_t byte) { return byte != 0; });
  return info;
}

}  // namespace rb::agent::rdma
