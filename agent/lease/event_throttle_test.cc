#include "agent/lease/event_throttle.h"

#include <gtest/gtest.h>

namespace rb::agent {
namespace {

using std::chrono::milliseconds;

constexpr EventThrottle::Time kStart{std::chrono::hours(1)};

TEST(EventThrottleTest, TheFirstOfItsKindPasses) {
  EventThrottle throttle;

  EXPECT_EQ(throttle.Admit("no_lease", 1000, kStart), 0U);
}

TEST(EventThrottleTest, HoldsBackTheRestOfThePeriodAndTellsHowMany) {
  EventThrottle throttle;
  throttle.Admit("no_lease", 1000, kStart);

  EXPECT_FALSE(throttle.Admit("no_lease", 1000, kStart));
  EXPECT_FALSE(throttle.Admit("no_lease", 1000, kStart + kThrottlePeriod - milliseconds(1)));
  EXPECT_EQ(throttle.Admit("no_lease", 1000, kStart + kThrottlePeriod), 2U);
  EXPECT_FALSE(throttle.Admit("no_lease", 1000, kStart + kThrottlePeriod));
  EXPECT_EQ(throttle.Admit("no_lease", 1000, kStart + 2 * kThrottlePeriod), 1U);
}

TEST(EventThrottleTest, OneUserDoesNotHoldBackAnother) {
  EventThrottle throttle;
  throttle.Admit("no_lease", 1000, kStart);

  EXPECT_EQ(throttle.Admit("no_lease", 1001, kStart), 0U);
}

TEST(EventThrottleTest, OneKindDoesNotHoldBackAnother) {
  EventThrottle throttle;
  throttle.Admit("no_lease", 1000, kStart);

  EXPECT_EQ(throttle.Admit("bad_token", 1000, kStart), 0U);
}

TEST(EventThrottleTest, ManyUsersInOnePeriodPassUpToABound) {
  EventThrottle throttle;
  for (uid_t uid = 0; uid < kThrottleEntriesMax; ++uid) {
    ASSERT_EQ(throttle.Admit("no_lease", uid, kStart), 0U);
  }

  EXPECT_FALSE(throttle.Admit("no_lease", kThrottleEntriesMax, kStart));
}

TEST(EventThrottleTest, QuietUsersMakeRoomForNewOnes) {
  EventThrottle throttle;
  for (uid_t uid = 0; uid < kThrottleEntriesMax; ++uid) throttle.Admit("no_lease", uid, kStart);

  EXPECT_EQ(throttle.Admit("no_lease", kThrottleEntriesMax, kStart + kThrottlePeriod), 0U);
}

}  // namespace
}  // namespace rb::agent
