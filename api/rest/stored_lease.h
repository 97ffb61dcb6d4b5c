// What the agent's checkpoint keeps of one lease: the lease and what the API never shows.
// Values and their JSON form. Threading: values and pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "api/rest/lease.h"

namespace rb::rest {

struct StoredLease {
  Lease lease;  // status.usage is what was settled so far
  std::string token_hash;
  std::uint64_t expires_boot_ns = 0;  // CLOCK_BOOTTIME
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
