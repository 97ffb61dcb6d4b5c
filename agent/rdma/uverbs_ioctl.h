// The bytes of the uverbs ioctl commands that the agent issues, and what comes back.
//
// Pure: builds and reads buffers, the ioctl itself is in uverbs_control_linux.cc. A command is a
// 24-byte header and 16 bytes per attribute; attributes of up to 8 bytes carry their value, longer
// ones point to it. So an encoded command holds addresses of buffers that must outlive the call.
//
// Kernel: include/uapi/rdma/rdma_user_ioctl_cmds.h, ib_user_ioctl_cmds.h, ib_user_verbs.h; tests
// check the bytes.
// Threading: values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "agent/rdma/uverbs_control.h"

namespace rb::agent::rdma {

inline constexpr std::size_t kQueryQpRequestBytes = 16;
inline constexpr std::size_t kQueryQpResponseBytes = 128;
inline constexpr std::size_t kModifyQpRequestBytes = 112;

// One command, ready for ioctl(2).
class UverbsCommand {
 public:
  UverbsCommand(std::uint32_t driver_id, std::uint16_t object, std::uint16_t method);

  // A constant of up to 8 bytes, or an object handle (length 0). Carried in place.
  UverbsCommand& AddValue(std::uint16_t attribute, std::uint16_t bytes, std::uint64_t value);
  // A buffer that the kernel reads or writes. Not copied: it must outlive the call.
  UverbsCommand& AddBuffer(std::uint16_t attribute, const void* data, std::size_t bytes);

  // The whole command, for reading and for the kernel, which writes flags into it.
  std::span<std::byte> bytes() { return bytes_; }

 private:
  void Add(std::uint16_t attribute, std::uint16_t length, std::uint64_t data);

  std::vector<std::byte> bytes_;
};

// Lists handles of `object` into `handles`; the kernel stores how many in `total`.
UverbsCommand EncodeListHandles(std::uint32_t driver_id, std::uint16_t object,
                                std::span<std::uint32_t> handles, std::uint32_t& total);

// Destroys `handle`. `response` is 8 bytes of room for what the method answers.
UverbsCommand EncodeDestroy(std::uint32_t driver_id, const ObjectKind& kind, std::uint32_t handle,
                            std::uint64_t& response);

// MODIFY_QP to the error state, in `request`.
UverbsCommand EncodeSetQpError(std::uint32_t driver_id, std::uint32_t qp_handle,
                               std::array<std::byte, kModifyQpRequestBytes>& request);

// QUERY_QP, from `request` into `response`.
UverbsCommand EncodeQueryQp(std::uint32_t driver_id, std::uint32_t qp_handle,
                            std::array<std::byte, kQueryQpRequestBytes>& request,
                            std::array<std::byte, kQueryQpResponseBytes>& response);

QpInfo DecodeQueryQp(const std::array<std::byte, kQueryQpResponseBytes>& response);

}  // namespace rb::agent::rdma
