// Reads a uverbs ioctl: which verb it is and where its parts lie. Pure: makes no system call and
// changes nothing.
//
// It trusts pointers inside the call as much as the kernel call itself would have to: libibverbs
// built them. What the kernel is going to refuse anyway (bad lengths) decodes to false and is
// passed on untouched, so that the kernel gives its own errno.
//
// Threading: stateless. Ownership: a Call borrows the caller's buffers.
#pragma once

#include <rdma/rdma_user_ioctl_cmds.h>

#include <cstddef>
#include <cstdint>

#include "shim/uverbs/verb_table.h"

namespace rb::shim {

// The kernel refuses headers longer than a page; so do we.
inline constexpr std::size_t kAttrsMax =
    (4096 - sizeof(ib_uverbs_ioctl_hdr)) / sizeof(ib_uverbs_attr);

// Bytes of one attribute: in the caller's memory, or inside the attribute when 8 or fewer.
struct Bytes {
  std::uint8_t* data = nullptr;
  std::size_t size = 0;
};

struct Call {
  ib_uverbs_ioctl_hdr* header = nullptr;
  const VerbRow* row = nullptr;  // null: the table does not know this verb
  Abi abi = Abi::kIoctl;
  std::uint32_t method = 0;  // the ioctl's method, or the wrapped command's number
  // Of a wrapped write command; empty for plain ioctls.
  Bytes core_in;
  Bytes core_out;
  Bytes uhw_in;  // the provider's part, also of plain ioctls
};

// The ABI carries every address as a 64-bit number.
template <typename T>
T* AtAddress(std::uint64_t address) {
  return reinterpret_cast<T*>(address);  // NOLINT(performance-no-int-to-ptr)
}

// Returns false when the header is not one that the kernel would accept.
bool Decode(ib_uverbs_ioctl_hdr* header, Call* call);

// The attribute with this id, or null.
ib_uverbs_attr* FindAttr(ib_uverbs_ioctl_hdr* header, std::uint16_t id);

// Input bytes of an attribute, wherever they lie.
Bytes InputOf(ib_uverbs_attr* attr);

// Numbers of a call; false when the call does not carry them.
bool ReadU64(const Bytes& bytes, std::size_t offset, std::uint64_t* value);
bool ReadU32(const Bytes& bytes, std::size_t offset, std::uint32_t* value);
bool ReadU8(const Bytes& bytes, std::size_t offset, std::uint8_t* value);

// What a row says about this call. CreatedHandle only after the kernel has answered.
bool CreatedHandle(const Call& call, std::uint32_t* handle);
bool DestroyedHandle(const Call& call, std::uint32_t* handle);
bool UserHandle(const Call& call, std::uint64_t* user_handle);
bool RegionBytes(const Call& call, std::uint64_t* bytes);
bool IsRawPacketQp(const Call& call);

// REREG_MR: which region, and its new length when the call changes the translation.
struct Reregistration {
  std::uint32_t handle = 0;
  bool changes_length = false;
  std::uint64_t bytes = 0;
};
bool ReadReregistration(const Call& call, Reregistration* reregistration);

}  // namespace rb::shim
