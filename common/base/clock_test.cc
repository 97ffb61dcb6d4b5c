#include "common/base/clock.h"

#include <gtest/gtest.h>

#include <ctime>

#include "tests/fakes/fake_clock.h"

namespace rb {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::system_clock;

TEST(SystemClockTest, BootTimeIsTheKernelsAndDoesNotGoBack) {
  const SystemClock clock;
  timespec before{};
  ::clock_gettime(CLOCK_BOOTTIME, &before);

  const BootTime first = clock.Boot();
  const BootTime second = clock.Boot();

  EXPECT_GE(first, seconds(before.tv_sec) + std::chrono::nanoseconds(before.tv_nsec));
  EXPECT_GE(second, first);
}

TEST(SystemClockTest, WallTimeIsNow) {
  const system_clock::time_point before = system_clock::now();

  const system_clock::time_point wall = SystemClock().Wall();

  EXPECT_GE(wall, before);
  EXPECT_LE(wall - before, hours(1));
}

TEST(FormatTimestampTest, IsRfc3339InUtc) {
  EXPECT_EQ(FormatTimestamp(system_clock::time_point(seconds(1'796'122'017))),
            "2026-12-01T10:46:57Z");
  EXPECT_EQ(FormatTimestamp(system_clock::time_point(seconds(0))), "1970-01-01T00:00:00Z");
}

TEST(FormatTimestampTest, DropsPartsOfASecond) {
  EXPECT_EQ(FormatTimestamp(system_clock::time_point(seconds(59) + milliseconds(999))),
            "1970-01-01T00:00:59Z");
}

TEST(FakeClockTest, MovesOnlyWhenTold) {
  FakeClock clock;
  const BootTime boot = clock.Boot();
  const system_clock::time_point wall = clock.Wall();

  EXPECT_EQ(clock.Boot(), boot);
  clock.Advance(seconds(5));

  EXPECT_EQ(clock.Boot() - boot, seconds(5));
  EXPECT_EQ(clock.Wall() - wall, seconds(5));
}

TEST(FakeClockTest, SettingTheWallClockLeavesBootTimeAlone) {
  FakeClock clock;
  const BootTime boot = clock.Boot();

  clock.SetWall(system_clock::time_point(seconds(1)));

  EXPECT_EQ(clock.Boot(), boot);
  EXPECT_EQ(FormatTimestamp(clock.Wall()), "1970-01-01T00:00:01Z");
}

}  // namespace
}  // namespace rb
