#include "shim/uverbs/decode.h"

#include <cstring>

namespace rb::shim {
namespace {

constexpr std::uint32_t kReregTranslation = 1U << 0;  // IB_MR_REREG_TRANS
constexpr std::uint8_t kRawPacketType = 8;            // IB_QPT_RAW_PACKET

Bytes OutputOf(ib_uverbs_attr* attr) {
  if (attr == nullptr) return {};
  return {.data = AtAddress<std::uint8_t>(attr->data), .size = attr->len};
}

void DecodeInvokeWrite(Call* call) {
  call->row = nullptr;
  std::uint64_t command = 0;
  if (!ReadU64(InputOf(FindAttr(call->header, UVERBS_ATTR_WRITE_CMD)), 0, &command)) return;
  call->abi = (command & IB_USER_VERBS_CMD_FLAG_EXTENDED) != 0 ? Abi::kWriteEx : Abi::kWrite;
  call->method = static_cast<std::uint32_t>(command & IB_USER_VERBS_CMD_COMMAND_MASK);
  call->row = FindWrite(call->abi, call->method);
  call->core_in = InputOf(FindAttr(call->header, UVERBS_ATTR_CORE_IN));
  call->core_out = OutputOf(FindAttr(call->header, UVERBS_ATTR_CORE_OUT));
}

// An object handle travels in the attribute itself.
bool HandleAttr(const Call& call, std::uint16_t id, std::uint32_t* handle) {
  const ib_uverbs_attr* attr = FindAttr(call.header, id);
  if (attr == nullptr) return false;
  *handle = static_cast<std::uint32_t>(attr->data);
  return true;
}

// A constant or number attribute: 8 bytes inline, or behind a pointer when longer.
bool NumberAttr(const Call& call, std::uint16_t id, std::uint64_t* value) {
  const Bytes bytes = InputOf(FindAttr(call.header, id));
  if (bytes.data == nullptr || bytes.size == 0) return false;
  *value = 0;
  std::memcpy(value, bytes.data, bytes.size < sizeof(*value) ? bytes.size : sizeof(*value));
  return true;
}

template <typename T>
bool Read(const Bytes& bytes, std::size_t offset, T* value) {
  if (bytes.data == nullptr || bytes.size < sizeof(T) || offset > bytes.size - sizeof(T)) {
    return false;
  }
  std::memcpy(value, bytes.data + offset, sizeof(T));
  return true;
}

}  // namespace

bool ReadU64(const Bytes& bytes, std::size_t offset, std::uint64_t* value) {
  return Read(bytes, offset, value);
}
bool ReadU32(const Bytes& bytes, std::size_t offset, std::uint32_t* value) {
  return Read(bytes, offset, value);
}
bool ReadU8(const Bytes& bytes, std::size_t offset, std::uint8_t* value) {
  return Read(bytes, offset, value);
}

ib_uverbs_attr* FindAttr(ib_uverbs_ioctl_hdr* header, std::uint16_t id) {
  for (std::uint16_t i = 0; i < header->num_attrs; ++i) {
    if (header->attrs[i].attr_id == id) return &header->attrs[i];
  }
  return nullptr;
}

Bytes InputOf(ib_uverbs_attr* attr) {
  if (attr == nullptr) return {};
  if (attr->len <= sizeof(attr->data)) {
    return {.data = reinterpret_cast<std::uint8_t*>(&attr->data), .size = attr->len};
  }
  return {.data = AtAddress<std::uint8_t>(attr->data), .size = attr->len};
}

bool Decode(ib_uverbs_ioctl_hdr* header, Call* call) {
  if (header == nullptr || header->num_attrs > kAttrsMax) return false;
  if (header->length != sizeof(*header) + (header->num_attrs * sizeof(ib_uverbs_attr))) {
    return false;
  }
  *call = Call{};
  call->header = header;
  call->method = header->method_id;
  call->uhw_in = InputOf(FindAttr(header, UVERBS_ATTR_UHW_IN));
  call->row = FindIoctl(header->object_id, header->method_id, header->driver_id);
  if (call->row != nullptr && call->row->action == Action::kInvokeWrite) DecodeInvokeWrite(call);
  return true;
}

bool CreatedHandle(const Call& call, std::uint32_t* handle) {
  if (call.abi == Abi::kIoctl) return HandleAttr(call, call.row->handle_at, handle);
  return ReadU32(call.core_out, call.row->handle_at, handle);
}

bool DestroyedHandle(const Call& call, std::uint32_t* handle) {
  if (call.abi == Abi::kIoctl) return HandleAttr(call, call.row->handle_at, handle);
  return ReadU32(call.core_in, call.row->handle_at, handle);
}

bool UserHandle(const Call& call, std::uint64_t* user_handle) {
  if (call.row->user_handle_at == kNowhere) return false;
  if (call.abi == Abi::kIoctl) return NumberAttr(call, call.row->user_handle_at, user_handle);
  return ReadU64(call.core_in, call.row->user_handle_at, user_handle);
}

bool RegionBytes(const Call& call, std::uint64_t* bytes) {
  if (call.row->length_at == kNowhere) return false;
  if (call.abi == Abi::kIoctl) return NumberAttr(call, call.row->length_at, bytes);
  return ReadU64(call.core_in, call.row->length_at, bytes);
}

bool IsRawPacketQp(const Call& call) {
  if ((call.row->traits & kTraitQpType) == 0) return false;
  if (call.abi == Abi::kIoctl) {
    std::uint64_t type = 0;
    return NumberAttr(call, call.row->qp_type_at, &type) && type == kRawPacketType;
  }
  std::uint8_t type = 0;
  return ReadU8(call.core_in, call.row->qp_type_at, &type) && type == kRawPacketType;
}

bool ReadReregistration(const Call& call, Reregistration* reregistration) {
  std::uint32_t flags = 0;
  if (!ReadU32(call.core_in, offsetof(ib_uverbs_rereg_mr, mr_handle), &reregistration->handle) ||
      !ReadU32(call.core_in, offsetof(ib_uverbs_rereg_mr, flags), &flags) ||
      !ReadU64(call.core_in, offsetof(ib_uverbs_rereg_mr, length), &reregistration->bytes)) {
    return false;
  }
  reregistration->changes_length = (flags & kReregTranslation) != 0;
  return true;
}

}  // namespace rb::shim
