// CLOCK_MONOTONIC in nanoseconds: the clock of the pace buckets and of every deadline here.
#pragma once

#include <cstdint>
#include <ctime>

namespace rb::shim {

inline constexpr std::uint64_t kNsPerMs = 1'000'000;

inline std::uint64_t NowNs() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return (static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000) +
         static_cast<std::uint64_t>(now.tv_nsec);
}

// Sleeps about `ns`; a signal ends it early, which every caller here wants.
inline void SleepNs(std::uint64_t ns) {
  const timespec pause{.tv_sec = static_cast<time_t>(ns / 1'000'000'000),
                       .tv_nsec = static_cast<long>(ns % 1'000'000'000)};
  ::nanosleep(&pause, nullptr);
}

}  // namespace rb::shim
