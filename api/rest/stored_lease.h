// What the agent's checkpoint keeps of one lease: the lease and what the API never shows.
// Values and their JSON form. Threading: values and pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/rest/lease.h"

namespace rb::rest {

// Who opened a slot of the counters page, so that a restarted agent can settle it.
struct StoredSlot {
  std::uint32_t slot = 0;
  std::uint32_t device_index = 0;
  std::uint32_t pid = 0;
  std::uint64_t start_time_ticks = 0;  // field 22 of /proc/PID/stat: tells a reused pid
  std::optional<std::uint32_t> context_number;
  bool operator==(const StoredSlot&) const = default;
};

struct StoredLease {
  Lease lease;  // status.usage is what was settled so far
  std::string token_hash;
  std::uint64_t expires_boot_ns = 0;  // CLOCK_BOOTTIME
  std::vector<StoredSlot> slots;
  bool operator==(const StoredLease&) const = default;
};

struct Checkpoint {
  std::string boot_id;
  std::uint64_t next_revision = 1;
  std::uint64_t next_event = 1;
  std::vector<StoredLease> leases;
  bool operator==(const Checkpoint&) const = default;
};

std::string DumpCheckpoint(const Checkpoint& checkpoint);
// Errors: kCorrupt, with what is wrong and where.
Result<Checkpoint> ParseCheckpoint(std::string_view text);

}  // namespace rb::rest
