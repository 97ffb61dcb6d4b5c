// Acts on a tenant's open uverbs file: lists, queries and destroys what it holds.
//
// The file comes from somebody else (pidfd_getfd on the tenant); it is borrowed for the call and
// must be closed soon, for it keeps a dead tenant's memory pinned. Everything here uses the
// context that the tenant made: no context is ever created. When to revoke is decided elsewhere;
// the order is in revoke_file.h.
//
// Threading: thread-compatible. Calls run driver code and may block: not for the loop.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "agent/rdma/resources.h"
#include "common/base/result.h"

namespace rb::agent::rdma {

// One kind of kernel object behind a uverbs file. The id is the kernel's number for it; numbers
// from 0x1000 on mean something else for every driver.
struct ObjectKind {
  std::string_view name;             // "qp", "devx_obj": for events and messages
  std::uint16_t object_id = 0;       //
  std::uint16_t destroy_method = 0;  //
  std::uint16_t response_bytes = 0;  // of the destroy method's answer; 0: it has none

  bool operator==(const ObjectKind&) const = default;
};

inline constexpr ObjectKind kFlow{"flow", 9, 0, 0};
inline constexpr ObjectKind kQp{"qp", 4, 1, 4};
inline constexpr ObjectKind kRwqIndirectionTable{"rwq_ind_tbl", 11, 0, 0};
inline constexpr ObjectKind kWq{"wq", 12, 1, 4};
inline constexpr ObjectKind kSrq{"srq", 5, 1, 4};
inline constexpr ObjectKind kCq{"cq", 3, 1, 8};
inline constexpr ObjectKind kMw{"mw", 8, 0, 0};
inline constexpr ObjectKind kMr{"mr", 7, 1, 0};
inline constexpr ObjectKind kDm{"dm", 14, 1, 0};
inline constexpr ObjectKind kAh{"ah", 6, 0, 0};
inline constexpr ObjectKind kXrcd{"xrcd", 10, 0, 0};
inline constexpr ObjectKind kCounters{"counters", 15, 1, 0};
inline constexpr ObjectKind kFlowAction{"flow_action", 13, 1, 0};
inline constexpr ObjectKind kPd{"pd", 1, 0, 0};

// Users before what they use, the PD last. Driver objects come just before the PD.
inline constexpr std::array kDestroyOrder{
    kFlow, kQp,       kRwqIndirectionTable, kWq, kSrq, kCq, kMw, kMr, kDm, kAh,
    kXrcd, kCounters, kFlowAction,          kPd};

// The objects that a driver adds, in the order to destroy them; empty for most drivers.
std::span<const ObjectKind> DriverObjects(std::uint32_t driver_id);

// kDestroyOrder with the driver's objects in their place.
std::vector<ObjectKind> DestroyOrder(std::uint32_t driver_id);

// A tenant's file. Not owned. `driver_id` must be that of the device (Device::driver_id): the
// kernel refuses any other.
struct UverbsFile {
  int fd = -1;
  std::uint32_t driver_id = 0;
};

// What the kernel says about one queue pair. The path fields are meaningful from RTR on and only
// for connected types; irdma returns no path at all (then `has_path` is false), and siw not even
// the state (always kReset).
struct QpInfo {
  QpState state = QpState::kUnknown;
  std::uint32_t dest_qpn = 0;
  std::uint16_t pkey_index = 0;
  std::uint8_t port = 0;
  bool has_path = false;
  std::uint8_t traffic_class = 0;  // the DSCP is its upper six bits
  std::uint8_t service_level = 0;
  std::uint8_t static_rate = 0;
  std::uint8_t sgid_index = 0;
  std::uint32_t flow_label = 0;
  std::array<std::uint8_t, 16> dgid{};

  bool operator==(const QpInfo&) const = default;
};

// One listing returns at most this many handles: an attribute's length has 16 bits.
inline constexpr std::size_t kHandlesListMax = 0xfffc / sizeof(std::uint32_t);

class UverbsControl {
 public:
  virtual ~UverbsControl() = default;

  // The handles of one kind, newest first, at most kHandlesListMax: that many means that there may
  // be more. A kind that this device or kernel does not know, and a file without a context, have
  // none.
  // Errors: kNotFound, the device is gone and took the objects with it; kInvalid, a wrong driver
  //         id; kInternal, not a uverbs file.
  virtual Result<std::vector<std::uint32_t>> ListHandles(UverbsFile file,
                                                         const ObjectKind& kind) = 0;

  // Takes a queue pair to the error state: posted work completes with flush errors.
  // Errors: kNotFound, gone already (or the whole device); kConflict, in use this moment; else what
  //         the driver says.
  virtual Result<void> SetQpError(UverbsFile file, std::uint32_t qp_handle) = 0;

  // Errors: kNotFound, gone already.
  virtual Result<QpInfo> QueryQp(UverbsFile file, std::uint32_t qp_handle) = 0;

  // Errors: kNotFound, gone already; kConflict, still used by another object (or a UD queue pair
  //         still in a multicast group, or in use this moment).
  virtual Result<void> Destroy(UverbsFile file, const ObjectKind& kind, std::uint32_t handle) = 0;
};

class LinuxUverbsControl final : public UverbsControl {
 public:
  Result<std::vector<std::uint32_t>> ListHandles(UverbsFile file, const ObjectKind& kind) override;
  Result<void> SetQpError(UverbsFile file, std::uint32_t qp_handle) override;
  Result<QpInfo> QueryQp(UverbsFile file, std::uint32_t qp_handle) override;
  Result<void> Destroy(UverbsFile file, const ObjectKind& kind, std::uint32_t handle) override;
};

}  // namespace rb::agent::rdma
