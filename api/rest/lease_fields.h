// The fields of a lease's JSON, for Reader and Writer (reader.h says how). Private to api/rest.
//
// Threading: stateless functors.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <string_view>

#include "api/rest/lease.h"
#include "api/rest/reader.h"
#include "api/wire/limit_table.h"
#include "api/wire/limits.h"

namespace rb::rest::internal {

inline constexpr std::array<std::string_view, 7> kPhaseNames{
    "pending", "active", "draining", "released", "expired", "revoked", "failed"};
inline constexpr std::array<std::string_view, 2> kForeignClassNames{"rewrite", "refuse"};
inline constexpr std::array<std::string_view, 2> kPacingNames{"block", "off"};
inline constexpr std::array<std::string_view, 2> kPermissionNames{"deny", "allow"};

// The kernel's rdma.max takes an int; sizes are int64 for every client.
inline constexpr std::uint64_t kCountMax = std::numeric_limits<std::int32_t>::max();
inline constexpr std::uint64_t kBytesMax = std::numeric_limits<std::int64_t>::max();
// Below 8 kbit/s a rate is a mistake: one packet would take a second.
inline constexpr IntegerRange kRateRange{.min = 8'000, .max = 100'000'000'000'000};
inline constexpr IntegerRange kBurstRange{.min = 4096, .max = std::uint64_t{1} << 30};
inline constexpr IntegerRange kTtlRange{.min = 1, .max = std::uint64_t{7} * 24 * 3600};
inline constexpr IntegerRange kGraceRange{.min = 0, .max = 600'000};
// (uid_t)-1 means "no user" to the kernel.
inline constexpr IntegerRange kUidRange{.min = 0, .max = 0xFFFF'FFFE};
inline constexpr std::size_t kSmallMapMax = 256;

// One integer per row of the limit table, in an array by wire::Index(Limit).
struct LimitValueFields {
  bool bounded = true;  // a limit that someone asks for; counts are free

  template <class Io, class T>
  void operator()(Io& io, T& values) const {
    for (const wire::LimitRow& row : wire::kLimitTable) {
      IntegerRange range;
      if (bounded) range.max = row.limit == wire::Limit::kMrBytes ? kBytesMax : kCountMax;
      io.Integer(row.name, values.at(wire::Index(row.limit)), range);
    }
  }
};

struct DeviceWishFields {
  template <class Io, class T>
  void operator()(Io& io, T& wish) const {
    // With names the count is their number, so it is not written: a patch of the names stays whole.
    if (Io::kReads || wish.names.empty()) {
      io.Integer("count", wish.count, {.min = 1, .max = wire::kLeaseDevicesMax});
    }
    if (Io::kReads || !wish.names.empty()) {
      io.TextList("names", wish.names, wire::kLeaseDevicesMax, kDeviceName);
    }
    io.OptionalText("link_layer", wish.link_layer, kLinkLayer);
    if constexpr (Io::kReads) Check(io, wish);
  }

 private:
  static void Check(Reader& io, DeviceWish& wish) {
    if (wish.names.empty()) return;
    std::vector<std::string> sorted = wish.names;
    std::ranges::sort(sorted);
    if (std::ranges::adjacent_find(sorted) != sorted.end()) {
      io.Refuse("names", "a device is named twice", "out_of_range");
    }
    if (io.Has("count") && wish.count != wish.names.size()) {
      io.Refuse("count", "differs from the number of names; leave it out", "out_of_range");
    }
    wish.count = static_cast<std::uint32_t>(wish.names.size());
  }
};

struct RateFields {
  template <class Io, class T>
  void operator()(Io& io, T& rate) const {
    io.Integer("max_bits_per_second", rate.max_bits_per_second, {.min = 0, .max = kRateRange.max});
    io.Integer("burst_bytes", rate.burst_bytes, kBurstRange);
    if constexpr (Io::kReads) {
      if (rate.max_bits_per_second != 0 && rate.max_bits_per_second < kRateRange.min) {
        io.Refuse("max_bits_per_second", "allowed: 0 (no rate), or at least 8000", "out_of_range");
      }
    }
  }
};

struct WorkloadFields {
  template <class Io, class T>
  void operator()(Io& io, T& workload) const {
    if constexpr (Io::kReads) workload.token = false;
    if (Io::kReads || workload.token) io.Bool("token", workload.token);
    io.MaybeInteger("uid", workload.uid, kUidRange);
    io.OptionalText("cgroup", workload.cgroup, kCgroupPath);
    if constexpr (Io::kReads) Check(io, workload);
  }

 private:
  static void Check(Reader& io, const Workload& workload) {
    const bool process = workload.token || workload.uid.has_value();
    if (process && !workload.cgroup.empty()) {
      io.Refuse("", "token or uid beside cgroup; exactly one selector is allowed", "out_of_range");
    }
    if (!process && workload.cgroup.empty()) {
      io.Missing("", "no selector; wanted: \"token\": true, a uid or a cgroup");
    }
  }
};

struct SpecFields {
  template <class Io, class T>
  void operator()(Io& io, T& spec) const {
    io.Required("tenant");
    io.Text("tenant", spec.tenant, kName);
    io.OptionalText("node", spec.node, kName);
    io.Object("devices", spec.devices, DeviceWishFields{});
    io.Object("limits", spec.limits.values, LimitValueFields{});
    io.OptionalText("traffic_class", spec.traffic_class, kName);
    io.Choice("on_foreign_class", spec.on_foreign_class, kForeignClassNames);
    io.Object("rate", spec.rate, RateFields{});
    io.Choice("pacing", spec.pacing, kPacingNames);
    io.Choice("devx", spec.devx, kPermissionNames);
    io.Choice("raw", spec.raw, kPermissionNames);
    io.Choice("unknown", spec.unknown, kPermissionNames);
    io.Bool("accounting", spec.accounting);
    io.Integer("ttl_seconds", spec.ttl_seconds, kTtlRange);
    io.Object("workload", spec.workload, WorkloadFields{});
  }
};

struct LabelFields {
  template <class Io, class T>
  void operator()(Io& io, T& labels) const {
    io.TextMap("labels", labels, kLabelsMax, kLabelKey, kLabelValue);
  }
};

struct LeaseRequestFields {
  template <class Io, class T>
  void operator()(Io& io, T& request) const {
    io.Required("spec");
    io.Object("metadata", request.labels, LabelFields{});
    io.Object("spec", request.spec, SpecFields{});
  }
};

struct MetadataFields {
  template <class Io, class T>
  void operator()(Io& io, T& metadata) const {
    io.Required("name");
    io.Text("name", metadata.name);
    io.Integer("revision", metadata.revision);
    io.Text("created_at", metadata.created_at);
    LabelFields{}(io, metadata.labels);
  }
};

struct LeasedDeviceFields {
  template <class Io, class T>
  void operator()(Io& io, T& device) const {
    io.Required("name");
    io.Text("name", device.name);
    io.Integer("port", device.port);
    io.MaybeInteger("dscp", device.dscp);
    io.MaybeInteger("sl", device.sl);
  }
};

struct OpUsageFields {
  template <class Io, class T>
  void operator()(Io& io, T& usage) const {
    io.Integer("messages", usage.messages);
    io.Integer("bytes", usage.bytes);
  }
};

struct UsageFields {
  template <class Io, class T>
  void operator()(Io& io, T& usage) const {
    io.Object("used", usage.used, LimitValueFields{.bounded = false});
    io.Object("denials", usage.denials, LimitValueFields{.bounded = false});
    io.ObjectMap("ops", usage.ops, kSmallMapMax, OpUsageFields{});
    io.Integer("throttled_ns", usage.throttled_ns);
    io.Integer("processes", usage.processes);
    io.Text("source", usage.source);
  }
};

struct ConditionFields {
  template <class Io, class T>
  void operator()(Io& io, T& condition) const {
    io.Text("type", condition.type);
    io.Text("message", condition.message);
    io.Text("since", condition.since);
  }
};

struct StatusFields {
  template <class Io, class T>
  void operator()(Io& io, T& status) const {
    io.Required("phase");
    io.Choice("phase", status.phase, kPhaseNames);
    io.OptionalText("node", status.node);
    io.List("devices", status.devices, wire::kLeaseDevicesMax, LeasedDeviceFields{});
    io.TextMap("enforcement", status.enforcement, kSmallMapMax);
    io.Object("usage", status.usage, UsageFields{});
    io.Integer("expires_in_seconds", status.expires_in_seconds);
    io.OptionalText("token", status.token);
    io.List("conditions", status.conditions, kSmallMapMax, ConditionFields{});
  }
};

struct LeaseFields {
  template <class Io, class T>
  void operator()(Io& io, T& lease) const {
    io.Required("metadata");
    io.Required("spec");
    io.Required("status");
    io.Object("metadata", lease.metadata, MetadataFields{});
    io.Object("spec", lease.spec, SpecFields{});
    io.Object("status", lease.status, StatusFields{});
  }
};

}  // namespace rb::rest::internal
