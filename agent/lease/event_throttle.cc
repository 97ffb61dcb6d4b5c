#include "agent/lease/event_throttle.h"

namespace rb::agent {

std::optional<std::uint64_t> EventThrottle::Admit(const std::string& kind, uid_t uid, Time now) {
  const auto key = std::make_pair(kind, uid);
  const auto known = entries_.find(key);
  if (known == entries_.end()) {
    if (entries_.size() >= kThrottleEntriesMax && !MakeRoom(now)) return std::nullopt;
    entries_[key] = {.passed = now};
    return 0;
  }
  Entry& entry = known->second;
  if (now - entry.passed < kThrottlePeriod) {
    ++entry.held_back;
    return std::nullopt;
  }
  entry.passed = now;
  return std::exchange(entry.held_back, 0);
}

// Forgets those who have been quiet for a period. One that had events held back loses their number;
// the metrics have it.
bool EventThrottle::MakeRoom(Time now) {
  return std::erase_if(entries_, [now](const auto& item) {
           return now - item.second.passed >= kThrottlePeriod;
         }) > 0;
}

}  // namespace rb::agent
