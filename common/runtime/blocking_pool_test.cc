#include "common/runtime/blocking_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "common/runtime/timer.h"
#include "tests/support/run_task.h"

namespace rb {
namespace {

using std::chrono::hours;

Task<void> RecordThreads(BlockingPool& pool, std::vector<std::thread::id>* ids) {
  ids->push_back(std::this_thread::get_id());
  ids->push_back(co_await pool.Run([] { return std::this_thread::get_id(); }));
  ids->push_back(std::this_thread::get_id());
}

Task<bool> ParseFails(BlockingPool& pool) {
  try {
    co_await pool.Run([] { return std::stoi("no number"); });
  } catch (const std::invalid_argument&) {
    co_return true;
  }
  co_return false;
}

Task<void> CountTo(BlockingPool& pool, int times, std::atomic<int>* count) {
  for (int i = 0; i < times; ++i) {
    auto add = [count] { ++*count; };
    co_await pool.Run(add);
  }
}

Task<void> WaitFor(BlockingPool& pool, std::shared_future<void> gate, bool* resumed) {
  auto wait = [gate] { gate.wait(); };
  co_await pool.Run(std::move(wait));
  *resumed = true;
}

TEST(BlockingPoolTest, RunsElsewhereAndResumesOnTheLoop) {
  Loop loop;
  BlockingPool pool(loop, 1);
  std::vector<std::thread::id> ids;

  test::RunTask(loop, RecordThreads(pool, &ids));

  ASSERT_EQ(ids.size(), 3U);
  EXPECT_EQ(ids[0], std::this_thread::get_id());
  EXPECT_NE(ids[1], ids[0]);
  EXPECT_EQ(ids[2], ids[0]);
}

TEST(BlockingPoolTest, ReturnsWhatCannotBeCopied) {
  Loop loop;
  BlockingPool pool(loop, 1);

  const std::unique_ptr<int> box =
      test::RunTask(loop, pool.Run([] { return std::make_unique<int>(7); }));

  EXPECT_EQ(*box, 7);
}

TEST(BlockingPoolTest, KeepsTheFunctionsCapturesAlive) {
  Loop loop;
  BlockingPool pool(loop, 1);
  std::string text(1000, 'x');

  const std::size_t size =
      test::RunTask(loop, pool.Run([text = std::move(text)] { return text.size(); }));

  EXPECT_EQ(size, 1000U);
}

TEST(BlockingPoolTest, AnExceptionReachesTheCaller) {
  Loop loop;
  BlockingPool pool(loop, 1);

  EXPECT_TRUE(test::RunTask(loop, ParseFails(pool)));
}

TEST(BlockingPoolTest, ManyTasksShareTheThreads) {
  Loop loop;
  BlockingPool pool(loop, 3);
  std::atomic<int> count = 0;
  for (int i = 0; i < 50; ++i) loop.Spawn(CountTo(pool, 20, &count));

  loop.Run();  // returns only when the pool has nothing left: calls count as work of the loop

  EXPECT_EQ(count, 1000);
}

TEST(BlockingPoolTest, ABlockedCallDoesNotBlockTheLoop) {
  Loop loop;
  BlockingPool pool(loop, 1);
  std::promise<void> gate;
  bool resumed = false;
  loop.Spawn(WaitFor(pool, gate.get_future().share(), &resumed));

  // The loop itself opens the gate: if the call blocked it, nobody would.
  loop.Post([&gate] { gate.set_value(); });
  loop.Run();

  EXPECT_TRUE(resumed);
}

TEST(BlockingPoolTest, DestructionWaitsForTheRunningCallAndDropsTheQueue) {
  Loop loop;
  std::promise<void> started;
  std::promise<void> gate;
  std::atomic<int> finished = 0;
  auto pool = std::make_unique<BlockingPool>(loop, 1);
  const std::shared_future<void> opened = gate.get_future().share();
  loop.Spawn(pool->Run([&, opened] {
    started.set_value();
    opened.wait();
    ++finished;
  }));
  loop.Spawn(pool->Run([&] { finished += 100; }));
  loop.Post([&loop] { loop.Stop(); });
  loop.Run();
  started.get_future().wait();

  std::future<void> destroyed = std::async(std::launch::async, [&] { pool.reset(); });
  gate.set_value();
  destroyed.wait();

  // The second call may have begun before the destructor stopped the queue, but never half.
  EXPECT_TRUE(finished == 1 || finished == 101) << finished;
}

TEST(BlockingPoolDeathTest, RefusesZeroThreads) {
  Loop loop;

  EXPECT_DEATH(BlockingPool(loop, 0), "threads > 0");
}

}  // namespace
}  // namespace rb
