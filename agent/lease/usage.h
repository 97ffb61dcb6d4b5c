// What a counters page says, as values. Pure readings of memory that a tenant may scribble on:
// every number is only reported, never trusted. Threading: pure functions over shared memory
// (relaxed loads).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "api/rest/lease.h"
#include "api/wire/pages.h"

namespace rb::agent {

// Totals over all slots and what was retired. `processes` is left 0: the page does not know.
rest::LeaseUsage ReadUsage(const wire::CountersPage& page);

// What went over one device of the lease.
struct DeviceUsage {
  std::array<wire::OpCount, wire::kOpCount> ops{};
  std::uint64_t throttled_ns = 0;
};

// By device index; REQUIRES: devices <= wire::kLeaseDevicesMax.
std::vector<DeviceUsage> ReadDeviceUsage(const wire::CountersPage& page, std::size_t devices);

// Adds the counted (not the held) part of `settled` to `usage`: totals from before a restart that
// lost the page.
void AddSettled(const rest::LeaseUsage& settled, rest::LeaseUsage* usage);

struct Denial {
  wire::Limit limit = wire::Limit::kContexts;
  std::uint64_t count = 0;  // new refusals since the last look
  std::uint64_t used = 0;   // at the last of them
  std::uint64_t asked = 0;
  std::uint64_t pid = 0;
  bool operator==(const Denial&) const = default;
};

// Refusals that came since `seen`, which is brought up to date. A counter that went backwards
// (scribbled) is taken as it is, without a denial.
std::vector<Denial> NewDenials(const wire::CountersPage& page,
                               std::array<std::uint64_t, wire::kLimitCount>* seen);

}  // namespace rb::agent
