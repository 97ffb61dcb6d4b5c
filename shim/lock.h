// A small sleeping lock that a preload library can afford.
//
// Not std::mutex (libstdc++) and not pthread_mutex_t: after fork() the child must be able to say
// "free" whatever another thread held, which POSIX does not allow for those. Not recursive; never
// hold it across a real verbs call, nor take it in a signal handler.
//
// Threading: that is what it is for. Source: futex(2).
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace rb::shim {

class Lock {
 public:
  constexpr Lock() = default;
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

  void Acquire() {
    std::uint32_t state = kFree;
    if (__atomic_compare_exchange_n(&state_, &state, kHeld, false, __ATOMIC_ACQUIRE,
                                    __ATOMIC_RELAXED)) {
      return;
    }
    while (__atomic_exchange_n(&state_, kContended, __ATOMIC_ACQUIRE) != kFree) {
      ::syscall(SYS_futex, &state_, FUTEX_WAIT_PRIVATE, kContended, nullptr, nullptr, 0);
    }
  }

  void Release() {
    if (__atomic_exchange_n(&state_, kFree, __ATOMIC_RELEASE) == kContended) {
      ::syscall(SYS_futex, &state_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
    }
  }

  // For the child after fork(), which has no other threads.
  void Reset() { __atomic_store_n(&state_, kFree, __ATOMIC_RELEASE); }

 private:
  static constexpr std::uint32_t kFree = 0;
  static constexpr std::uint32_t kHeld = 1;
  static constexpr std::uint32_t kContended = 2;

  std::uint32_t state_ = kFree;
};

class LockGuard {
 public:
  explicit LockGuard(Lock* lock) : lock_(lock) { lock_->Acquire(); }
  ~LockGuard() { lock_->Release(); }
  LockGuard(const LockGuard&) = delete;
  LockGuard& operator=(const LockGuard&) = delete;

 private:
  Lock* lock_;
};

// Keeps errno as it was: a hook that succeeds must not change it.
class ErrnoGuard {
 public:
  ErrnoGuard();
  ~ErrnoGuard();
  ErrnoGuard(const ErrnoGuard&) = delete;
  ErrnoGuard& operator=(const ErrnoGuard&) = delete;

 private:
  int saved_;
};

}  // namespace rb::shim
