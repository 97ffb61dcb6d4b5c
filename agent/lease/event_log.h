// What happened on this node, newest last: a bounded ring that the REST API serves.
//
// It forgets the oldest first; a reader sees that by the gap in the sequence numbers. It does not
// log lines or count metrics; its caller does. Runs on: loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "api/rest/node.h"
#include "common/base/clock.h"

namespace rb::agent {

inline constexpr std::size_t kEventsMax = 4096;

class EventLog {
 public:
  explicit EventLog(const Clock& clock, std::uint64_t next_sequence = 1)
      : clock_(clock), next_sequence_(next_sequence) {}

  // Called with every event as it is added, e.g. to log it. One observer; set it once.
  void Observe(std::function<void(const rest::Event&)> observer) {
    observer_ = std::move(observer);
  }

  // Sequence and time are filled in here.
  void Add(rest::Event event);

  // At most `limit` events with a sequence above `since`, oldest first.
  std::vector<rest::Event> Since(std::uint64_t since, std::size_t limit) const;

  std::uint64_t next_sequence() const { return next_sequence_; }
  // After a restart numbers go on where they stopped: a reader's `since` stays true.
  void SkipTo(std::uint64_t sequence) {
    if (sequence > next_sequence_) next_sequence_ = sequence;
  }

 private:
  const Clock& clock_;
  std::uint64_t next_sequence_;
  std::deque<rest::Event> events_;
  std::function<void(const rest::Event&)> observer_;
};

}  // namespace rb::agent
