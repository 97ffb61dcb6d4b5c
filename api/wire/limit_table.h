// The one table of limits: what a lease can bound, how it is called everywhere, what a refusal
// looks like. Decode (shim), REST schema, metrics, kernel limits and docs are all made from it.
//
// Shim-safe: constants only. The order is wire format: the index of a limit is its place in the
// shared pages. Append at the end, never reorder.
#pragma once

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace rb::wire {

enum class Limit : std::uint32_t {
  kContexts,
  kPds,
  kQps,
  kCqs,
  kSrqs,
  kMrs,
  kMrBytes,
  kAhs,
  kMws,
  kXrcds,
  kWqs,
  kFlows,
  kCounters,
};
inline constexpr std::size_t kLimitCount = 13;

// Who holds a limit against whom; docs/architecture.md explains the levels.
enum class Level : std::uint8_t { kKernel, kShim };

struct LimitRow {
  Limit limit;
  const char* name;   // REST field, metric label, event field: the same word everywhere
  const char* title;  // for people: "queue pairs"
  int refusal_errno;  // what the application sees one past the limit (the man pages' errno)
  Level level;        // what enforces it on a node with an rdma cgroup controller
  std::uint64_t default_value;
  bool counts_object;  // one unit is one kernel object (so it adds to rdma.max hca_object)
};

inline constexpr std::array<LimitRow, kLimitCount> kLimitTable{{
    {Limit::kContexts, "contexts", "device contexts", ENOMEM, Level::kKernel, 4, false},
    {Limit::kPds, "pds", "protection domains", ENOMEM, Level::kShim, 8, true},
    {Limit::kQps, "qps", "queue pairs", ENOMEM, Level::kShim, 64, true},
    {Limit::kCqs, "cqs", "completion queues", ENOMEM, Level::kShim, 64, true},
    {Limit::kSrqs, "srqs", "shared receive queues", ENOMEM, Level::kShim, 8, true},
    {Limit::kMrs, "mrs", "memory regions", ENOMEM, Level::kShim, 4096, true},
    {Limit::kMrBytes, "mr_bytes", "bytes of memory regions", ENOMEM, Level::kShim,
     std::uint64_t{8} << 30, false},
    {Limit::kAhs, "ahs", "address handles", ENOMEM, Level::kShim, 1024, true},
    {Limit::kMws, "mws", "memory windows", ENOMEM, Level::kShim, 0, true},
    {Limit::kXrcds, "xrcds", "XRC domains", ENOMEM, Level::kShim, 0, true},
    {Limit::kWqs, "wqs", "work queues", ENOMEM, Level::kShim, 0, true},
    {Limit::kFlows, "flows", "flow steering rules", ENOMEM, Level::kShim, 0, true},
    {Limit::kCounters, "counters", "counter sets", ENOMEM, Level::kShim, 0, true},
}};

constexpr std::size_t Index(Limit limit) { return static_cast<std::size_t>(limit); }
constexpr const LimitRow& Row(Limit limit) { return kLimitTable[Index(limit)]; }

namespace internal {
constexpr bool InOrder() {
  for (std::size_t i = 0; i < kLimitCount; ++i) {
    if (Index(kLimitTable[i].limit) != i) return false;
  }
  return true;
}
}  // namespace internal
static_assert(internal::InOrder(), "a limit's row must stand at its index");

}  // namespace rb::wire
