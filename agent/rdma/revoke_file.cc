#include "agent/rdma/revoke_file.h"

#include <utility>

namespace rb::agent::rdma {
namespace {

// A full listing may hide more; this many listings bound what one pass does for one kind, however
// fast the tenant creates.
constexpr int kListingsMax = 64;

// No objects when the device is gone: its removal destroyed them.
Result<std::vector<std::uint32_t>> ListOrNone(UverbsControl& control, UverbsFile file,
                                              const ObjectKind& kind) {
  auto handles = control.ListHandles(file, kind);
  if (!handles && handles.error().code == ErrorCode::kNotFound) {
    return std::vector<std::uint32_t>{};
  }
  return handles;
}

struct KindOutcome {
  std::size_t destroyed = 0;
  std::size_t left = 0;
  std::string refusal;
};

Result<KindOutcome> DestroyKind(UverbsControl& control, UverbsFile file, const ObjectKind& kind) {
  KindOutcome outcome;
  for (int listing = 0; listing < kListingsMax; ++listing) {
    RB_TRY(const std::vector<std::uint32_t> handles, ListOrNone(control, file, kind));
    outcome.left = 0;
    std::size_t destroyed = 0;
    for (const std::uint32_t handle : handles) {
      const auto done = control.Destroy(file, kind, handle);
      if (done) {
        ++destroyed;
      } else if (done.error().code != ErrorCode::kNotFound) {
        ++outcome.left;
        if (outcome.refusal.empty()) outcome.refusal = done.error().message;
      }
    }
    outcome.destroyed += destroyed;
    if (handles.size() < kHandlesListMax || destroyed == 0) break;
  }
  return outcome;
}

}  // namespace

Result<StopOutcome> StopQueuePairs(UverbsControl& control, UverbsFile file) {
  StopOutcome outcome;
  RB_TRY(const std::vector<std::uint32_t> handles, ListOrNone(control, file, kQp));
  for (const std::uint32_t handle : handles) {
    const auto stopped = control.SetQpError(file, handle);
    if (stopped) {
      ++outcome.stopped;
    } else if (stopped.error().code != ErrorCode::kNotFound) {
      ++outcome.refused;
      if (outcome.first_refusal.empty()) outcome.first_refusal = stopped.error().message;
    }
  }
  return outcome;
}

Result<DestroyOutcome> DestroyObjects(UverbsControl& control, UverbsFile file,
                                      std::size_t passes_max) {
  DestroyOutcome outcome;
  for (std::size_t pass = 0; pass < passes_max; ++pass) {
    outcome.left.clear();
    outcome.first_refusal.clear();
    for (const ObjectKind& kind : DestroyOrder(file.driver_id)) {
      RB_TRY(KindOutcome done, DestroyKind(control, file, kind));
      outcome.destroyed += done.destroyed;
      if (done.left == 0) continue;
      outcome.left.push_back({.kind = std::string(kind.name), .count = done.left});
      if (outcome.first_refusal.empty()) outcome.first_refusal = std::move(done.refusal);
    }
    if (outcome.clean()) break;
  }
  return outcome;
}

}  // namespace rb::agent::rdma
