#include "shim/policy.h"

#include <cstring>

namespace rb::shim {
namespace {

// Acquire loads keep every field read behind the first and before the second look at the
// generation; fences would do the same, but the thread sanitizer does not understand them.
template <typename T>
T Acquire(const T& field) {
  return __atomic_load_n(&field, __ATOMIC_ACQUIRE);
}

bool BeginRead(const wire::PolicyPage& page, std::uint64_t* generation) {
  *generation = Acquire(page.generation);
  return (*generation & 1) == 0;
}

bool EndRead(const wire::PolicyPage& page, std::uint64_t generation) {
  return Acquire(page.generation) == generation;
}

}  // namespace

bool ReadPolicy(const wire::PolicyPage& page, wire::PolicyPage* copy) {
  static_assert(sizeof(wire::PolicyPage) % sizeof(std::uint64_t) == 0);
  constexpr std::size_t kWords = sizeof(wire::PolicyPage) / sizeof(std::uint64_t);
  const auto* from = reinterpret_cast<const std::uint64_t*>(&page);
  for (int i = 0; i < kPolicyTriesMax; ++i) {
    std::uint64_t generation = 0;
    if (!BeginRead(page, &generation)) continue;
    for (std::size_t word = 0; word < kWords; ++word) {
      const std::uint64_t value = Acquire(from[word]);
      std::memcpy(reinterpret_cast<char*>(copy) + (word * sizeof(value)), &value, sizeof(value));
    }
    if (EndRead(page, generation)) return true;
  }
  return false;
}

bool ReadRate(const wire::PolicyPage& page, std::uint32_t device_index, RateView* view) {
  for (int i = 0; i < kPolicyTriesMax; ++i) {
    std::uint64_t generation = 0;
    if (!BeginRead(page, &generation)) continue;
    view->state = static_cast<wire::PolicyState>(Acquire(page.state));
    view->flags = Acquire(page.flags);
    view->rate.rate_bytes_per_second = Acquire(page.devices[device_index].rate_bytes_per_second);
    view->rate.burst_bytes = Acquire(page.devices[device_index].burst_bytes);
    if (EndRead(page, generation)) return true;
  }
  return false;
}

bool PolicyCache::Read(const wire::PolicyPage& page, wire::PolicyPage* copy) {
  const bool fresh = ReadPolicy(page, copy);
  const LockGuard guard(&lock_);
  if (fresh) {
    last_ = *copy;
    has_last_ = true;
    return true;
  }
  if (has_last_) *copy = last_;
  return has_last_;
}

bool PolicyCache::ReadRate(const wire::PolicyPage& page, std::uint32_t device_index,
                           RateView* view) {
  if (shim::ReadRate(page, device_index, view)) return true;
  const LockGuard guard(&lock_);
  if (!has_last_) return false;
  view->state = static_cast<wire::PolicyState>(last_.state);
  view->flags = last_.flags;
  view->rate = last_.devices[device_index];
  return true;
}

}  // namespace rb::shim
