// A clock that moves only when the test says so.
#pragma once

#include <chrono>

#include "common/base/clock.h"

namespace rb {

// Threading: thread-compatible.
class FakeClock final : public Clock {
 public:
  BootTime Boot() const override { return boot_; }
  std::chrono::system_clock::time_point Wall() const override { return wall_; }

  // Moves both clocks.
  void Advance(std::chrono::nanoseconds by) {
    boot_ += by;
    wall_ += std::chrono::duration_cast<std::chrono::system_clock::duration>(by);
  }

  // Moves the wall clock only, as an administrator or NTP would.
  void SetWall(std::chrono::system_clock::time_point wall) { wall_ = wall; }

 private:
  BootTime boot_ = std::chrono::hours(1);
  // 2026-01-01T00:00:00Z: a round, recent moment.
  std::chrono::system_clock::time_point wall_{std::chrono::seconds(1'767'225'600)};
};

}  // namespace rb
