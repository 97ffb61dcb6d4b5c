// Frames on the agent's tenant socket: what a workload's process and the agent say to each other.
//
// Unix SOCK_SEQPACKET, one frame a packet, little-endian PODs of fixed size. A process speaks
// first:
//
//   ENTER{token}           -> ENTERED            the caller is now in the lease's cgroup
//   HELLO{version, token?} -> GRANT + 2 fds      policy page (read-only), counters page
//   OPEN{device}           -> OPENED + 1 fd      a fresh uverbs file and its slot in the counters
//   page anything refused       -> ERROR{code, errno} the connection stays usable malformed -> the
//   connection is closed
//
// Layout with example bytes: docs/wire.md. Shim-safe: no std::string, no exceptions.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "api/wire/limits.h"

namespace rb::wire {

static_assert(std::endian::native == std::endian::little, "frames are sent as they lie in memory");

inline constexpr std::uint32_t kFrameMagic = 0x31'57'42'52;  // "RBW1"
inline constexpr std::uint16_t kWireVersion = 1;

enum class FrameType : std::uint16_t {
  kEnter = 1,
  kEntered = 2,
  kHello = 3,
  kGrant = 4,
  kOpen = 5,
  kOpened = 6,
  kError = 7,
};

struct FrameHeader {
  std::uint32_t magic;
  std::uint16_t version;
  std::uint16_t type;      // FrameType
  std::uint32_t length;    // of the whole frame, header included
  std::uint32_t sequence;  // chosen by the caller, repeated in the answer
};
static_assert(sizeof(FrameHeader) == 16);

// NUL-padded text; a full array without NUL is malformed.
template <std::size_t N>
using Text = std::array<char, N>;

// "Put me into the lease that this token names": for launchers, before exec.
struct EnterRequest {
  FrameHeader header;
  Text<kTokenBytes> token;
  std::uint64_t reserved;  // must be 0
};
static_assert(sizeof(EnterRequest) == 16 + kTokenBytes + 8);

struct EnterReply {
  FrameHeader header;
  Text<kLeaseIdBytes> lease_id;
};
static_assert(sizeof(EnterReply) == 16 + kLeaseIdBytes);

// "What do I hold?" The token is empty when the cgroup or uid already says who is calling.
struct HelloRequest {
  FrameHeader header;
  Text<kTokenBytes> token;
  std::uint64_t reserved;  // must be 0
};
static_assert(sizeof(HelloRequest) == 16 + kTokenBytes + 8);

struct GrantedDevice {
  Text<kDeviceNameBytes> name;  // RDMA link name: "mlx5_0"
  Text<kNodeNameBytes> node;    // file name under /dev/infiniband: "uverbs0"
  std::uint32_t major;          // of the node, as the kernel has it now
  std::uint32_t minor;
  std::uint32_t driver_id;  // enum rdma_driver_id (rdma/ib_user_ioctl_verbs.h)
  std::uint32_t reserved;
};
static_assert(sizeof(GrantedDevice) == 112);

// Brings two descriptors: [0] the policy page (O_RDONLY), [1] the counters page.
struct GrantReply {
  FrameHeader header;
  Text<kLeaseIdBytes> lease_id;
  Text<kTenantBytes> tenant;
  std::uint32_t
      device_count;  // <= kLeaseDevicesMax; a device's index in the pages is its place here
  std::uint32_t reserved;
  std::array<GrantedDevice, kLeaseDevicesMax> devices;
};
static_assert(sizeof(GrantReply) ==
              16 + kLeaseIdBytes + kTenantBytes + 8 + (112 * kLeaseDevicesMax));
static_assert(sizeof(GrantReply) <= kFrameBytesMax);

// "Let me use this device." REQUIRES: HELLO on the same connection.
struct OpenRequest {
  FrameHeader header;
  Text<kDeviceNameBytes> device;
  std::uint64_t reserved;  // must be 0
};
static_assert(sizeof(OpenRequest) == 16 + kDeviceNameBytes + 8);

// Brings one descriptor: a uverbs file without a context; the caller issues GET_CONTEXT itself.
struct OpenReply {
  FrameHeader header;
  std::uint32_t slot;          // index into CountersPage::slots
  std::uint32_t device_index;  // index into GrantReply::devices
  std::uint32_t driver_id;
  std::uint32_t reserved;
};
static_assert(sizeof(OpenReply) == 32);

struct ErrorReply {
  FrameHeader header;
  std::uint32_t errno_value;  // what the verbs call should fail with
  std::uint32_t reserved;
  Text<kReasonBytes> reason;  // stable code: "no_lease", "device_not_leased", "limit_contexts", …
  Text<kErrorTextBytes> message;
};
static_assert(sizeof(ErrorReply) == 24 + kReasonBytes + kErrorTextBytes);

static_assert(std::is_trivially_copyable_v<GrantReply> && std::is_trivially_copyable_v<ErrorReply>);

// A frame of type T with its header filled in and everything else zero.
template <typename T>
T MakeFrame(FrameType type, std::uint32_t sequence) {
  T frame{};
  frame.header = {.magic = kFrameMagic,
                  .version = kWireVersion,
                  .type = static_cast<std::uint16_t>(type),
                  .length = sizeof(T),
                  .sequence = sequence};
  return frame;
}

}  // namespace rb::wire
