// Empties one tenant's uverbs file: the courteous half of a revoke.
//
// Two steps, so that the caller can leave the tenant time to see flush completions in between:
//   StopQueuePairs -> wait flush_ms -> DestroyObjects.
// What is left afterwards (see `left`) only a kill takes away: a hostile tenant creates objects as
// fast as this destroys them, and a UD queue pair in a multicast group cannot be destroyed.
//
// Threading: stateless; blocks in driver code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "agent/rdma/uverbs_control.h"
#include "common/base/result.h"

namespace rb::agent::rdma {

struct StopOutcome {
  std::size_t stopped = 0;    // queue pairs now in the error state
  std::size_t refused = 0;    // queue pairs that the driver would not take there
  std::string first_refusal;  // why, for the event; empty when none

  bool operator==(const StopOutcome&) const = default;
};

struct LeftObjects {
  std::string kind;  // ObjectKind::name
  std::size_t count = 0;

  bool operator==(const LeftObjects&) const = default;
};

struct DestroyOutcome {
  std::size_t destroyed = 0;
  std::vector<LeftObjects> left;  // empty: the file holds nothing that can be destroyed
  std::string first_refusal;      // why the first left object stayed; empty when none

  bool clean() const { return left.empty(); }
  bool operator==(const DestroyOutcome&) const = default;
};

// Passes over all kinds that DestroyObjects makes before it gives up: an object that is in use
// (kConflict) in one pass is often free in the next.
inline constexpr std::size_t kDestroyPassesMax = 4;

// Takes every queue pair of the file to the error state. A queue pair that vanishes meanwhile is
// not counted. Errors: those of ListHandles; a file without a context is {0, 0}.
Result<StopOutcome> StopQueuePairs(UverbsControl& control, UverbsFile file);

// Destroys everything in DestroyOrder(driver_id), at most `passes_max` times over.
// Errors: those of ListHandles; a file without a context is clean.
Result<DestroyOutcome> DestroyObjects(UverbsControl& control, UverbsFile file,
                                      std::size_t passes_max = kDestroyPassesMax);

}  // namespace rb::agent::rdma
