// Counts and paces what a process posts: the part that post_send and ibv_qp_ex share.
//
// Waiting happens here, in the posting thread, with no lock held: a very short wait spins, a longer
// one sleeps in slices of at most kSliceNs and reads the policy again after each, so that a PATCH
// or a revoke also reaches a thread that is already waiting.
//
// Threading: safe. errno kept.
#pragma once

#include "shim/fd_table.h"
#include "shim/work.h"

namespace rb::shim {

inline constexpr std::uint64_t kSliceNs = 10'000'000;
// Below this a sleep costs more than it waits for (timer slack alone is 50 us).
inline constexpr std::uint64_t kSpinNs = 10'000;

// What the lease wanted when the request passed.
struct Passage {
  bool counted = false;
  wire::DeviceRate rate{};  // 0: not paced
};

// Waits until `bytes` may go and charges them. Returns 0, or EACCES when the lease was revoked,
// also while waiting.
int WaitToPass(File* file, std::uint64_t bytes, Passage* passage);

// For bytes that are known only after the wait: charges without waiting, the next post pays.
void ChargeLate(File* file, std::uint64_t bytes, const Passage& passage);

// The provider did not take `bytes` of what WaitToPass charged.
void TakeBack(File* file, std::uint64_t bytes, const Passage& passage);

// Adds to the slot's counts when the lease wants accounting.
void Count(File* file, const Work& work, const Passage& passage);

}  // namespace rb::shim
