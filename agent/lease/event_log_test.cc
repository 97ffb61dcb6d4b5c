#include "agent/lease/event_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/fakes/fake_clock.h"

namespace rb::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

rest::Event Event(std::string type) {
  rest::Event event;
  event.type = std::move(type);
  return event;
}

std::vector<std::uint64_t> Sequences(const std::vector<rest::Event>& events) {
  std::vector<std::uint64_t> sequences;
  for (const rest::Event& event : events) sequences.push_back(event.sequence);
  return sequences;
}

class EventLogTest : public ::testing::Test {
 protected:
  void AddMany(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) log_.Add(Event("e"));
  }

  FakeClock clock_;
  EventLog log_{clock_};
};

TEST_F(EventLogTest, NumbersAndDatesWhatItGets) {
  rest::Event event = Event("lease_created");
  event.sequence = 99;
  event.time = "yesterday";

  log_.Add(event);

  const auto events = log_.Since(0, 10);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].sequence, 1U);
  EXPECT_EQ(events[0].time, FormatTimestamp(clock_.Wall()));
  EXPECT_EQ(events[0].type, "lease_created");
  EXPECT_EQ(log_.next_sequence(), 2U);
}

TEST_F(EventLogTest, SinceIsExclusiveAndOldestFirst) {
  AddMany(4);

  EXPECT_THAT(Sequences(log_.Since(2, 10)), ElementsAre(3U, 4U));
  EXPECT_THAT(log_.Since(4, 10), IsEmpty());
  EXPECT_THAT(log_.Since(400, 10), IsEmpty());
}

TEST_F(EventLogTest, TheLimitCutsTheNewest) {
  AddMany(4);

  EXPECT_THAT(Sequences(log_.Since(1, 2)), ElementsAre(2U, 3U));
  EXPECT_THAT(log_.Since(0, 0), IsEmpty());
}

TEST_F(EventLogTest, HoldsItsMaximumAndForgetsTheOldestOnePastIt) {
  AddMany(kEventsMax);
  const auto full = Sequences(log_.Since(0, kEventsMax + 1));

  AddMany(1);
  const auto past = Sequences(log_.Since(0, kEventsMax + 1));

  ASSERT_EQ(full.size(), kEventsMax);
  EXPECT_EQ(full.front(), 1U);
  ASSERT_EQ(past.size(), kEventsMax);
  EXPECT_EQ(past.front(), 2U);
  EXPECT_EQ(past.back(), kEventsMax + 1);
}

TEST_F(EventLogTest, TheObserverSeesEachEventNumbered) {
  std::vector<std::uint64_t> seen;
  log_.Observe([&seen](const rest::Event& event) { seen.push_back(event.sequence); });

  AddMany(2);

  EXPECT_THAT(seen, ElementsAre(1U, 2U));
}

TEST_F(EventLogTest, NumbersGoOnAfterARestartAndNeverBack) {
  log_.SkipTo(50);
  log_.SkipTo(10);

  AddMany(1);

  EXPECT_THAT(Sequences(log_.Since(0, 10)), ElementsAre(50U));
}

}  // namespace
}  // namespace rb::agent
