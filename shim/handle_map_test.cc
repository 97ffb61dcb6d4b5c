#include "shim/handle_map.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace rb::shim {
namespace {

TEST(HandleMapTest, KeepsAndForgets) {
  HandleMap map;

  EXPECT_EQ(map.Get(5), 0U);
  EXPECT_TRUE(map.Set(5, 77));
  EXPECT_EQ(map.Get(5), 77U);
  EXPECT_EQ(map.Take(5), 77U);
  EXPECT_EQ(map.Take(5), 0U);
}

TEST(HandleMapTest, TakesTheLargestHandleAndNotOneMore) {
  HandleMap map;

  EXPECT_TRUE(map.Set(HandleMap::kHandlesMax - 1, 1));
  EXPECT_FALSE(map.Set(HandleMap::kHandlesMax, 1));
  EXPECT_EQ(map.Get(HandleMap::kHandlesMax), 0U);
}

TEST(HandleMapTest, ClearForgetsAll) {
  HandleMap map;
  map.Set(1, 10);
  map.Set(5000, 20);

  map.Clear(nullptr);

  EXPECT_EQ(map.Get(1), 0U);
  EXPECT_EQ(map.Get(5000), 0U);
}

TEST(HandleMapTest, ThreadsShareIt) {
  constexpr std::uint32_t kPerThread = 4000;
  constexpr std::uint32_t kThreads = 4;
  HandleMap map;
  std::vector<std::thread> threads;

  for (std::uint32_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&map, t] {
      for (std::uint32_t i = 0; i < kPerThread; ++i) map.Set((i * kThreads) + t, i + 1);
    });
  }
  for (std::thread& thread : threads) thread.join();

  for (std::uint32_t i = 0; i < kPerThread * kThreads; ++i) {
    ASSERT_EQ(map.Get(i), (i / kThreads) + 1);
  }
}

}  // namespace
}  // namespace rb::shim
