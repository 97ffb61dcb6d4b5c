// Keeps one noisy process from filling the event log: of one kind from one user, one event a
// period.
//
// It only counts and answers; events are made by its caller. What was held back is told with the
// next event that passes. Threading: thread-compatible; pure but for its own memory.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace rb::agent {

inline constexpr std::chrono::seconds kThrottlePeriod{1};
// Users times kinds that are remembered at once. A user namespace gives a tenant thousands of
// users: beyond this many within one period nothing passes.
inline constexpr std::size_t kThrottleEntriesMax = 1024;

class EventThrottle {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // May an event of this kind from this user pass now? Then the number of those that were held back
  // since the last that passed; else nothing.
  std::optional<std::uint64_t> Admit(const std::string& kind, uid_t uid, Time now);

 private:
  struct Entry {
    Time passed;
    std::uint64_t held_back = 0;
  };

  bool MakeRoom(Time now);

  std::map<std::pair<std::string, uid_t>, Entry> entries_;
};

}  // namespace rb::agent
