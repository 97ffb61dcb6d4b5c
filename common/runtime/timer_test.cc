#include "common/runtime/timer.h"

#include <gtest/gtest.h>

#include "tests/support/run_task.h"

namespace rb {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

TEST(SleepForTest, TakesAtLeastItsTime) {
  Loop loop;
  const auto before = steady_clock::now();

  test::RunTask(loop, SleepFor(loop, milliseconds(5)));

  EXPECT_GE(steady_clock::now() - before, milliseconds(5));
}

TEST(SleepForTest, NegativeTimeReturnsAtOnce) {
  Loop loop;

  test::RunTask(loop, SleepFor(loop, hours(-1)));
}

TEST(PeriodicTimerTest, CallsAgainAndAgain) {
  Loop loop;
  PeriodicTimer timer(loop);
  int calls = 0;

  timer.Start(milliseconds(1), [&] {
    if (++calls == 3) loop.Stop();
  });
  loop.Run();

  EXPECT_EQ(calls, 3);
}

TEST(PeriodicTimerTest, StopInsideTheCallEndsIt) {
  Loop loop;
  PeriodicTimer timer(loop);
  int calls = 0;

  timer.Start(milliseconds(1), [&, tag = std::string("captured")] {
    timer.Stop();
    // The function that runs must survive its own Stop().
    EXPECT_EQ(tag, "captured");
    ++calls;
  });
  loop.Run();  // returns because no timer is left

  EXPECT_EQ(calls, 1);
}

TEST(PeriodicTimerTest, StopBeforeTheFirstTickPreventsIt) {
  Loop loop;
  PeriodicTimer timer(loop);
  int calls = 0;

  timer.Start(milliseconds(1), [&] { ++calls; });
  timer.Stop();
  loop.Run();

  EXPECT_EQ(calls, 0);
}

TEST(PeriodicTimerTest, StartingAgainReplacesPeriodAndFunction) {
  Loop loop;
  PeriodicTimer timer(loop);
  int first = 0;
  int second = 0;

  timer.Start(milliseconds(1), [&] { ++first; });
  timer.Start(milliseconds(2), [&] {
    ++second;
    loop.Stop();
  });
  loop.Run();

  EXPECT_EQ(first, 0);
  EXPECT_EQ(second, 1);
}

TEST(PeriodicTimerTest, StartInsideTheCallKeepsOneSeries) {
  Loop loop;
  PeriodicTimer timer(loop);
  int second = 0;

  timer.Start(milliseconds(1), [&] {
    timer.Start(milliseconds(1), [&] {
      if (++second == 2) timer.Stop();
    });
  });
  loop.Run();

  EXPECT_EQ(second, 2);
}

TEST(PeriodicTimerTest, DestroyingItEndsIt) {
  Loop loop;
  int calls = 0;
  {
    PeriodicTimer timer(loop);
    timer.Start(milliseconds(1), [&] { ++calls; });
  }

  loop.Run();

  EXPECT_EQ(calls, 0);
}

TEST(PeriodicTimerTest, ALateLoopSkipsMissedTicks) {
  Loop loop;
  PeriodicTimer timer(loop);
  int calls = 0;
  const auto start = steady_clock::now();
  timer.Start(milliseconds(1), [&] {
    ++calls;
    // The first call is long: twenty periods pass within it.
    while (calls == 1 && steady_clock::now() - start < milliseconds(20)) {
    }
    if (steady_clock::now() - start >= milliseconds(25)) loop.Stop();
  });

  loop.Run();

  // 25 periods have passed in all; a burst would have made up for the 20 missed.
  EXPECT_LE(calls, 10);
}

TEST(PeriodicTimerDeathTest, RefusesAZeroPeriod) {
  Loop loop;
  PeriodicTimer timer(loop);

  EXPECT_DEATH(timer.Start(milliseconds(0), [] {}), "period > ");
}

}  // namespace
}  // namespace rb
