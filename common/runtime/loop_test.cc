#include "common/runtime/loop.h"

#include <gtest/gtest.h>

#include <csignal>
#include <string>
#include <vector>

#include "common/runtime/timer.h"

namespace rb {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

Task<void> Append(std::vector<std::string>* log, std::string text) {
  log->push_back(std::move(text));
  co_return;
}

Task<void> SleepThenSet(Loop& loop, milliseconds duration, bool* flag) {
  co_await SleepFor(loop, duration);
  *flag = true;
}

Task<void> ParseNumber(std::string text) {
  (void)std::stoi(text);
  co_return;
}

TEST(LoopTest, RunReturnsWhenNothingIsLeft) {
  Loop loop;
  std::vector<std::string> log;

  loop.Spawn(Append(&log, "task"));
  loop.Run();
  loop.Post([&log] { log.emplace_back("post"); });
  loop.Run();

  EXPECT_EQ(log, (std::vector<std::string>{"task", "post"}));
}

TEST(LoopTest, PostedWorkNeverRunsInsideTheCall) {
  Loop loop;
  std::vector<int> order;

  loop.Post([&] {
    loop.Post([&] { order.push_back(2); });
    order.push_back(1);
  });
  loop.Run();

  EXPECT_EQ(order, (std::vector<int>{1, 2}));
}

TEST(LoopTest, SpawnNeverRunsInsideTheCall) {
  Loop loop;
  std::vector<std::string> log;

  loop.Post([&] {
    loop.Spawn(Append(&log, "task"));
    log.emplace_back("caller");
  });
  loop.Run();

  EXPECT_EQ(log, (std::vector<std::string>{"caller", "task"}));
}

TEST(LoopTest, StopLeavesTheRestForTheNextRun) {
  Loop loop;
  int ran = 0;
  loop.Post([&] {
    ++ran;
    loop.Stop();
  });
  loop.Post([&] { ++ran; });

  loop.Run();
  EXPECT_EQ(ran, 1);

  loop.Run();
  EXPECT_EQ(ran, 2);
}

TEST(LoopTest, RunUntilReturnsWithTheTaskAndKeepsOtherWorkPending) {
  Loop loop;
  bool slow = false;
  bool quick = false;
  loop.Spawn(SleepThenSet(loop, hours(1), &slow));

  loop.RunUntil(SleepThenSet(loop, milliseconds(1), &quick));

  EXPECT_TRUE(quick);
  EXPECT_FALSE(slow);
}

TEST(LoopTest, ATaskThatOutlivesItsRunUntilDoesNotStopALaterRun) {
  Loop loop;
  bool first = false;
  bool second = false;
  loop.Post([&loop] { loop.Stop(); });
  loop.RunUntil(SleepThenSet(loop, milliseconds(1), &first));
  ASSERT_FALSE(first);

  loop.RunUntil(SleepThenSet(loop, milliseconds(20), &second));

  EXPECT_TRUE(first);
  EXPECT_TRUE(second);
}

TEST(LoopTest, RunUntilSignalledReturnsTheSignal) {
  Loop loop;
  loop.Post([] { (void)std::raise(SIGTERM); });

  EXPECT_EQ(loop.RunUntilSignalled(), SIGTERM);

  loop.Post([] { (void)std::raise(SIGINT); });
  EXPECT_EQ(loop.RunUntilSignalled(), SIGINT);
}

TEST(LoopTest, RunUntilSignalledReturnsZeroWhenStopped) {
  Loop loop;
  loop.Post([&loop] { loop.Stop(); });

  EXPECT_EQ(loop.RunUntilSignalled(), 0);
}

TEST(LoopTest, DestroyingTheLoopDropsWaitingTasks) {
  bool flag = false;
  {
    Loop loop;
    loop.Spawn(SleepThenSet(loop, hours(1), &flag));
    loop.Post([&loop] { loop.Stop(); });
    loop.Run();
  }

  EXPECT_FALSE(flag);
}

TEST(LoopDeathTest, AnExceptionThatEscapesATaskAbortsAndSaysWhich) {
  EXPECT_DEATH(
      {
        Loop loop;
        loop.Spawn(ParseNumber("no number"));
        loop.Run();
      },
      "an exception escaped a task: stoi");
}

}  // namespace
}  // namespace rb
