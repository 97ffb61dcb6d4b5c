// Time on the loop: waiting in a task, and calling something again and again.
//
// Both run on the monotonic clock, which stands still while the machine sleeps. Lease expiry
// compares Clock::Boot() (common/base/clock.h) when it wakes; it does not rely on a timer's length.
//
// Runs on: loop.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>

#include "common/runtime/loop.h"
#include "common/runtime/task.h"

namespace rb {

// Resumes the caller after `duration` (at once when it is zero or negative).
Task<void> SleepFor(Loop& loop, std::chrono::nanoseconds duration);

// Calls a function every period until stopped or destroyed.
class PeriodicTimer {
 public:
  explicit PeriodicTimer(Loop& loop);
  ~PeriodicTimer();
  PeriodicTimer(const PeriodicTimer&) = delete;
  PeriodicTimer& operator=(const PeriodicTimer&) = delete;

  // First call one period from now. A late tick does not cause a burst: missed ticks are skipped.
  // Starting again replaces the earlier period and function. REQUIRES: period > 0.
  void Start(std::chrono::nanoseconds period, std::function<void()> fn);

  // No call happens after this returns. May be called from inside `fn`.
  void Stop();

 private:
  struct State;
  static void Arm(const std::shared_ptr<State>& state);

  // Shared with the pending wait, which can outlive this object by one turn of the loop.
  std::shared_ptr<State> state_;
};

}  // namespace rb
