// The two pages that a lease's processes share with the agent.
//
//   PolicyPage    agent -> processes. A root-owned file the tenant maps read-only. Read at every
//   hooked
//                 call, so a PATCH or revoke holds from the next call on, with no message and no
//                 thread.
//   CountersPage  processes -> agent. A sealed memfd that both map writable. The tenant can
//   scribble it:
//                 nothing hard may depend on what it says, and metrics call it source="shim".
//
// Both are plain memory of fixed layout (docs/wire.md). Every field that two sides touch is read
// and written with the functions at the end of this file. Shim-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "api/wire/limit_table.h"
#include "api/wire/limits.h"

namespace rb::wire {

inline constexpr std::uint32_t kPolicyMagic = 0x31'50'42'52;    // "RBP1"
inline constexpr std::uint32_t kCountersMagic = 0x31'43'42'52;  // "RBC1"
inline constexpr std::uint32_t kPageVersion = 1;

enum class PolicyState : std::uint32_t {
  kActive = 1,
  kDraining = 2,  // existing objects work, new ones are refused with EACCES
  kRevoked = 3,   // every new call is refused with EACCES
};

// Bits of PolicyPage::flags.
inline constexpr std::uint32_t kPolicyAccounting = 1U << 0;  // count bytes and messages
inline constexpr std::uint32_t kPolicyHasClass = 1U << 1;    // traffic_class and sl are set
inline constexpr std::uint32_t kPolicyRefuseClass = 1U
                                                    << 2;  // another class: EACCES, not rewritten
inline constexpr std::uint32_t kPolicyDenyUnknown =
    1U << 3;                                              // unknown objects and methods: EOPNOTSUPP
inline constexpr std::uint32_t kPolicyDenyRaw = 1U << 4;  // RAW_PACKET QPs and flow rules: EPERM
inline constexpr std::uint32_t kPolicyDenyDevx = 1U << 5;  // mlx5 DEVX objects: EOPNOTSUPP
inline constexpr std::uint32_t kPolicyPaced = 1U << 6;     // some device has a rate

struct DeviceRate {
  std::uint64_t rate_bytes_per_second;  // payload bytes; 0: not paced
  std::uint64_t burst_bytes;
};

struct PolicyPage {
  std::uint32_t magic;
  std::uint32_t version;
  std::uint64_t generation;  // odd while the agent writes; see ReadPolicy in shim/policy.h
  std::uint32_t state;       // PolicyState
  std::uint32_t flags;
  std::uint8_t traffic_class;  // the whole byte: DSCP << 2
  std::uint8_t sl;
  std::array<std::uint8_t, 6> reserved;
  std::array<std::uint64_t, kPageLimits> limits;  // by Index(Limit)
  std::array<DeviceRate, kLeaseDevicesMax> devices;
};
static_assert(sizeof(PolicyPage) == 32 + (8 * kPageLimits) + (16 * kLeaseDevicesMax));
static_assert(sizeof(PolicyPage) <= 4096);

// What a data-path operation moves; the order is page layout and the metric label `op`.
enum class Op : std::uint32_t { kSend, kWrite, kRead, kAtomic };
inline constexpr std::size_t kOpCount = 4;
inline constexpr std::array<const char*, kOpCount> kOpNames{"send", "write", "read", "atomic"};

struct OpCount {
  std::uint64_t messages;
  std::uint64_t bytes;  // payload, from the work request
};

// One opened uverbs file. A forked child shares the file, so it shares the slot.
enum class SlotState : std::uint32_t {
  kFree = 0,
  kOpen = 1,    // set by the agent before it sends OPENED
  kClosed = 2,  // set by the last closer (shim) after it gave its counts back
};

struct alignas(64) CounterSlot {
  std::uint32_t state;         // SlotState
  std::uint32_t device_index;  // written by the agent
  std::uint32_t opener_pid;    // written by the agent, in its pid namespace
  std::uint32_t holders;       // processes that hold the file (1 after OPENED, + forked children)
  std::array<std::uint64_t, kPageLimits> used;
  std::array<std::uint64_t, kPageLimits> denials;
  std::array<OpCount, kOpCount> ops;
  std::uint64_t throttled_ns;
  std::uint64_t throttled_posts;
  std::uint64_t class_rewrites;
};
static_assert(sizeof(CounterSlot) == 640);

// GCRA state of one device of the lease: the theoretical arrival time, on CLOCK_MONOTONIC.
// `rate_bytes_per_second` is the rate that arrival_ns was last reckoned with: whoever meets another
// rate in the policy rescales the debt, so that a PATCH holds from the next post on. The shim
// writes both; the agent leaves them alone.
struct alignas(64) PaceBucket {
  std::uint64_t arrival_ns;
  std::uint64_t rate_bytes_per_second;
};
static_assert(sizeof(PaceBucket) == 64);

// The last refusal per limit, so that the agent's event can say what was asked.
struct Refusal {
  std::uint64_t used;
  std::uint64_t asked;
  std::uint64_t pid;  // in the refused process's own pid namespace
};

struct CountersPage {
  std::uint32_t magic;
  std::uint32_t version;
  std::uint32_t slot_count;
  std::uint32_t reserved;
  // Of the whole lease, over all slots: a charge is one atomic add here, compared with the limit.
  std::array<std::uint64_t, kPageLimits> used;
  std::array<Refusal, kPageLimits> last_refusal;
  std::array<PaceBucket, kLeaseDevicesMax> buckets;
  // What settled slots counted (denials, ops, throttling), by device index; the first one also takes refusals
  // that happened outside a slot. Their state stays kFree and their `used` stays 0.
  std::array<CounterSlot, kLeaseDevicesMax> retired;
  std::array<CounterSlot, kSlotsMax> slots;
};
static_assert(offsetof(CountersPage, buckets) % 64 == 0);
static_assert(offsetof(CountersPage, slots) % 64 == 0);

// Access to shared fields. Relaxed unless said: each field means something on its own.
template <typename T>
T Load(const T& field) {
  return __atomic_load_n(&field, __ATOMIC_RELAXED);
}
template <typename T>
T LoadAcquire(const T& field) {
  return __atomic_load_n(&field, __ATOMIC_ACQUIRE);
}
template <typename T>
void Store(T* field, T value) {
  __atomic_store_n(field, value, __ATOMIC_RELAXED);
}
template <typename T>
void StoreRelease(T* field, T value) {
  __atomic_store_n(field, value, __ATOMIC_RELEASE);
}
// Returns the value after the addition.
template <typename T>
T Add(T* field, T value) {
  return __atomic_add_fetch(field, value, __ATOMIC_RELAXED);
}
template <typename T>
T Subtract(T* field, T value) {
  return __atomic_sub_fetch(field, value, __ATOMIC_RELAXED);
}
template <typename T>
T Exchange(T* field, T value) {
  return __atomic_exchange_n(field, value, __ATOMIC_ACQ_REL);
}
template <typename T>
bool CompareExchange(T* field, T* expected, T desired) {
  return __atomic_compare_exchange_n(field, expected, desired, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE);
}

// Gives back everything that `slot` holds. Safe when two sides do it at once: each unit is taken
// out of the slot by one exchange, so it is subtracted from the totals once.
inline void ReturnCharges(CountersPage* page, CounterSlot* slot) {
  for (std::size_t i = 0; i < kLimitCount; ++i) {
    const auto held = Exchange<std::uint64_t>(&slot->used[i], 0);
    if (held != 0) Subtract(&page->used[i], held);
  }
}

}  // namespace rb::wire
