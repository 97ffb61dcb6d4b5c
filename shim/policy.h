// Reads the lease's policy page, which the agent may be rewriting at this very moment.
//
// The agent makes the generation odd, writes the fields and makes it even again. A reader takes a
// copy between two equal even generations. The agent may die in between and leave it odd for ever,
// so the number of tries is bounded and the caller says what holds then (the last good copy).
//
// Threading: stateless, any number of readers. PolicyCache is safe too.
#pragma once

#include "api/wire/pages.h"
#include "shim/lock.h"

namespace rb::shim {

inline constexpr int kPolicyTriesMax = 64;

// Copies the page. Returns false when no consistent copy could be had within kPolicyTriesMax.
bool ReadPolicy(const wire::PolicyPage& page, wire::PolicyPage* copy);

// What the data path needs of the policy: a few words instead of the whole page.
struct RateView {
  wire::PolicyState state = wire::PolicyState::kActive;
  std::uint32_t flags = 0;
  wire::DeviceRate rate{};
};
bool ReadRate(const wire::PolicyPage& page, std::uint32_t device_index, RateView* view);

// The last good copy of one page, for when the agent died while it wrote.
class PolicyCache {
 public:
  // A consistent copy of `page`, or the last one there was. False when there never was one.
  bool Read(const wire::PolicyPage& page, wire::PolicyPage* copy);

  // Rates of `device_index`; falls back to the last good copy like Read.
  bool ReadRate(const wire::PolicyPage& page, std::uint32_t device_index, RateView* view);

  void Reset() { lock_.Reset(); }

 private:
  Lock lock_;
  bool has_last_ = false;
  wire::PolicyPage last_{};
};

}  // namespace rb::shim
