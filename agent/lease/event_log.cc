#include "agent/lease/event_log.h"

#include <algorithm>
#include <utility>

namespace rb::agent {

void EventLog::Add(rest::Event event) {
  event.sequence = next_sequence_++;
  event.time = FormatTimestamp(clock_.Wall());
  if (observer_) observer_(event);
  events_.push_back(std::move(event));
  if (events_.size() > kEventsMax) events_.pop_front();
}

std::vector<rest::Event> EventLog::Since(std::uint64_t since, std::size_t limit) const {
  const auto first = std::ranges::upper_bound(events_, since, {}, &rest::Event::sequence);
  const auto available = static_cast<std::size_t>(events_.end() - first);
  return {first, first + static_cast<std::ptrdiff_t>(std::min(limit, available))};
}

}  // namespace rb::agent
