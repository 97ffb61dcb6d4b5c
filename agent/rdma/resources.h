// Who holds what on a device, as the kernel counts it: RDMA netlink's resource tracking.
//
// Attribution goes object -> PD -> context number. A pid is printed only while the *creating*
// process lives, so the map from context to lease must be learnt early; this port only reads.
// Objects made through DEVX (mlx5) are not tracked here: see UverbsControl::ListHandles.
//
// Cost: on hardware the kernel asks the firmware once for every row of Qps(); the others are cheap.
//
// Threading: thread-compatible. Calls block for some milliseconds: not for the loop.
// Errors of every call: kNotFound, no such device; kUnavailable, the tables changed faster than
// they could be read; kUnsupported, this kernel has no such table; kDenied; kCorrupt; kInternal.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"

namespace rb::agent::rdma {

enum class QpState : std::uint8_t { kReset, kInit, kRtr, kRts, kSqd, kSqe, kError, kUnknown = 255 };

// Numbered as in the kernel's restrack and uverbs.
enum class QpType : std::uint8_t {
  kSmi,
  kGsi,
  kRc,
  kUc,
  kUd,
  kRawIpv6,
  kRawEthertype,
  kRawPacket = 8,
  kXrcInitiator,
  kXrcTarget,
  kDriver = 255,
};

std::string_view Name(QpState state);  // "rts", "error"
std::string_view Name(QpType type);    // "rc", "raw_packet"; "other" for a number not listed

// Who made an object. `pid` is in this process's pid namespace.
struct Creator {
  std::optional<std::int32_t> pid = {};  // absent: a kernel user, or the creator is dead
  std::string kernel_user = {};          // "ib_core", "nvme_rdma": set only for kernel users

  bool is_kernel() const { return !kernel_user.empty(); }
  bool operator==(const Creator&) const = default;
};

struct ContextRow {
  std::string device;
  std::uint32_t ctxn = 0;
  Creator creator;

  bool operator==(const ContextRow&) const = default;
};

struct PdRow {
  std::uint32_t pdn = 0;
  std::optional<std::uint32_t> ctxn;  // absent: a kernel user's
  std::uint64_t users = 0;            // objects that use it
  Creator creator;

  bool operator==(const PdRow&) const = default;
};

struct QpRow {
  std::uint32_t lqpn = 0;
  std::optional<std::uint32_t> rqpn;  // connected types only
  QpType type = QpType::kRc;
  QpState state = QpState::kUnknown;
  std::optional<std::uint32_t> pdn;   // absent: a kernel user's, or a QP without PD (XRC target)
  std::optional<std::uint32_t> port;  // absent: not bound to a port yet
  Creator creator;

  bool operator==(const QpRow&) const = default;
};

struct CqRow {
  std::uint32_t cqn = 0;
  std::uint32_t entries = 0;
  std::optional<std::uint32_t> ctxn;
  Creator creator;

  bool operator==(const CqRow&) const = default;
};

struct MrRow {
  std::uint32_t mrn = 0;
  std::uint64_t bytes = 0;
  std::optional<std::uint32_t> pdn;
  Creator creator;

  bool operator==(const MrRow&) const = default;
};

struct SrqRow {
  std::uint32_t srqn = 0;
  std::optional<std::uint32_t> pdn;
  Creator creator;

  bool operator==(const SrqRow&) const = default;
};

// Objects by the kernel's word for the type: "pd", "cq", "qp", "cm_id", "mr", "ctx", "srq".
using ResourceCounts = std::map<std::string, std::uint64_t>;

class Resources {
 public:
  virtual ~Resources() = default;

  virtual Result<std::vector<ContextRow>> Contexts(const std::string& device) = 0;
  virtual Result<std::vector<PdRow>> Pds(const std::string& device) = 0;
  virtual Result<std::vector<QpRow>> Qps(const std::string& device) = 0;
  virtual Result<std::vector<CqRow>> Cqs(const std::string& device) = 0;
  virtual Result<std::vector<MrRow>> Mrs(const std::string& device) = 0;
  virtual Result<std::vector<SrqRow>> Srqs(const std::string& device) = 0;
  // Totals, kernel users included. One small message: fit for a metric.
  virtual Result<ResourceCounts> Summary(const std::string& device) = 0;
};

}  // namespace rb::agent::rdma
