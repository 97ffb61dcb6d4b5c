// The lease as the REST API knows it: values and their JSON form (nlohmann/json stays in the .cc).
//
// Parsing is strict: an unknown field, a wrong type, a negative or too large number is an error
// that names the JSON pointer. Quantities are integers in base units. Threading: values and pure
// functions.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/wire/limit_table.h"
#include "common/base/result.h"

namespace rb::rest {

enum class Phase : std::uint8_t {
  kPending,
  kActive,
  kDraining,
  kReleased,
  kExpired,
  kRevoked,
  kFailed,
};
std::string_view Name(Phase phase);  // "active"
// Released, expired, revoked and failed leases hold nothing and never change again.
bool IsEnded(Phase phase);

enum class ForeignClass : std::uint8_t { kRewrite, kRefuse };
enum class Pacing : std::uint8_t { kBlock, kOff };
enum class Permission : std::uint8_t { kDeny, kAllow };

// By wire::Index(Limit); filled from wire::kLimitTable's defaults.
struct Limits {
  std::array<std::uint64_t, wire::kLimitCount> values;

  Limits();
  std::uint64_t operator[](wire::Limit limit) const { return values[wire::Index(limit)]; }
  std::uint64_t& operator[](wire::Limit limit) { return values[wire::Index(limit)]; }
  bool operator==(const Limits&) const = default;
};

// Which devices a lease wants. Empty fields accept anything.
struct DeviceWish {
  std::uint32_t count = 1;
  std::vector<std::string> names;  // exactly these; then `count` is their number
  std::string link_layer;          // "ethernet" | "infiniband"; empty: any
  bool operator==(const DeviceWish&) const = default;
};

struct Rate {
  std::uint64_t max_bits_per_second = 0;  // payload bits per second and device; 0: no rate
  std::uint64_t burst_bytes = 1048576;
  bool operator==(const Rate&) const = default;
};

// Whose processes the lease is for. Exactly one of token, uid alone, or cgroup; a uid beside token
// narrows the token to that user.
struct Workload {
  bool token = true;
  std::optional<std::uint32_t> uid;
  std::string cgroup;  // path below the cgroup mount: "/kubepods/pod1"
  bool operator==(const Workload&) const = default;
};

struct LeaseSpec {
  std::string tenant;
  std::string node;  // empty: the node that is asked
  DeviceWish devices;
  Limits limits;
  std::string traffic_class;  // a name from the node's traffic classes; empty: left to applications
  ForeignClass on_foreign_class = ForeignClass::kRewrite;
  Rate rate;
  Pacing pacing = Pacing::kBlock;
  Permission devx = Permission::kDeny;
  Permission raw = Permission::kDeny;
  Permission unknown = Permission::kDeny;
  bool accounting = true;
  std::uint64_t ttl_seconds = 3600;
  Workload workload;
  bool operator==(const LeaseSpec&) const = default;
};

using Labels = std::map<std::string, std::string>;

struct LeaseMetadata {
  std::string name;  // the lease's id: "lease-0123456789abcdef"
  std::uint64_t revision = 0;
  std::string created_at;
  Labels labels;
  bool operator==(const LeaseMetadata&) const = default;
};

struct LeasedDevice {
  std::string name;
  std::uint32_t port = 1;
  std::optional<std::uint32_t> dscp;  // of the traffic class
  std::optional<std::uint32_t> sl;
  bool operator==(const LeasedDevice&) const = default;
};

struct OpUsage {
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
  bool operator==(const OpUsage&) const = default;
};

// What the lease's processes hold and did. `source` says who counted (the shim: forgeable).
struct LeaseUsage {
  std::array<std::uint64_t, wire::kLimitCount> used{};
  std::array<std::uint64_t, wire::kLimitCount> denials{};
  std::map<std::string, OpUsage> ops;  // "send", "write", "read", "atomic"
  std::uint64_t throttled_ns = 0;
  std::uint64_t processes = 0;
  std::string source = "shim";
  bool operator==(const LeaseUsage&) const = default;
};

struct Condition {
  std::string type;
  std::string message;
  std::string since;
  bool operator==(const Condition&) const = default;
};

struct LeaseStatus {
  Phase phase = Phase::kPending;
  std::string node;
  std::vector<LeasedDevice> devices;
  std::map<std::string, std::string> enforcement;  // limit, "rate", "traffic_class" -> level
  LeaseUsage usage;
  std::uint64_t expires_in_seconds = 0;
  std::string token;  // only in the answer to the creating POST
  std::vector<Condition> conditions;
  bool operator==(const LeaseStatus&) const = default;
};

struct Lease {
  LeaseMetadata metadata;
  LeaseSpec spec;
  LeaseStatus status;
  bool operator==(const Lease&) const = default;
};

// A creating POST: {"metadata": {"labels": …}, "spec": {…}}; anything left out has its default.
struct LeaseRequest {
  Labels labels;
  LeaseSpec spec;
  bool operator==(const LeaseRequest&) const = default;
};

// Error{kInvalid} with "<pointer>: <what is wrong and what is allowed>"; reason is "malformed" for
// text that is not JSON, "unknown_field", "wrong_type", "out_of_range" or "missing_field".
Result<LeaseRequest> ParseLeaseRequest(std::string_view json);

// RFC 7386 merge of `patch` ({"metadata":{"labels":…}, "spec":{…}}) over what `current` says; the
// result is parsed as strictly as a creation. What may not change on a running lease is admission's
// business.
Result<LeaseRequest> ApplyLeasePatch(const LeaseRequest& current, std::string_view patch);

// The smallest merge patch that turns `from` into `to`: "{}" when they are equal.
std::string DiffLeaseRequests(const LeaseRequest& from, const LeaseRequest& to);

std::string DumpLease(const Lease& lease);
std::string DumpLeaseList(const std::vector<Lease>& leases);

// For clients (rdmactl) and the checkpoint.
std::string DumpLeaseRequest(const LeaseRequest& request);
Result<Lease> ParseLease(std::string_view json);
Result<std::vector<Lease>> ParseLeaseList(std::string_view json);

struct RenewRequest {
  std::uint64_t ttl_seconds = 3600;
};
struct RevokeRequest {
  std::uint64_t grace_ms = 0;
  std::string reason;
};
// An empty body is the default request.
Result<RenewRequest> ParseRenewRequest(std::string_view json);
Result<RevokeRequest> ParseRevokeRequest(std::string_view json);
std::string DumpRenewRequest(const RenewRequest& request);
std::string DumpRevokeRequest(const RevokeRequest& request);

}  // namespace rb::rest
