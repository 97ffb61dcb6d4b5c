#include "shim/handle_map.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace rb::shim {
namespace {

class HandleMapTest : public ::testing::Test {
 protected:
  ~HandleMapTest() override { map_.Free(nullptr); }

  HandleMap map_;
};

TEST_F(HandleMapTest, KeepsAndForgets) {
  EXPECT_EQ(map_.Get(5), 0U);
  EXPECT_TRUE(map_.Set(5, 77));
  EXPECT_EQ(map_.Get(5), 77U);
  EXPECT_EQ(map_.Take(5), 77U);
  EXPECT_EQ(map_.Take(5), 0U);
}

TEST_F(HandleMapTest, TakesTheLargestHandleAndNotOneMore) {
  EXPECT_TRUE(map_.Set(HandleMap::kHandlesMax - 1, 1));
  EXPECT_FALSE(map_.Set(HandleMap::kHandlesMax, 1));
  EXPECT_EQ(map_.Get(HandleMap::kHandlesMax), 0U);
}

TEST_F(HandleMapTest, ClearForgetsAll) {
  map_.Set(1, 10);
  map_.Set(5000, 20);

  map_.Clear(nullptr);

  EXPECT_EQ(map_.Get(1), 0U);
  EXPECT_EQ(map_.Get(5000), 0U);
}

TEST_F(HandleMapTest, ThreadsShareIt) {
  constexpr std::uint32_t kPerThread = 4000;
  constexpr std::uint32_t kThreads = 4;
  std::vector<std::thread> threads;

  for (std::uint32_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([this, t] {
      for (std::uint32_t i = 0; i < kPerThread; ++i) map_.Set((i * kThreads) + t, i + 1);
    });
  }
  for (std::thread& thread : threads) thread.join();

  for (std::uint32_t i = 0; i < kPerThread * kThreads; ++i) {
    ASSERT_EQ(map_.Get(i), (i / kThreads) + 1);
  }
}

}  // namespace
}  // namespace rb::shim
