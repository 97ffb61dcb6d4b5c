#include "shim/policy.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>

namespace rb::shim {
namespace {

void Write(wire::PolicyPage* page, std::uint64_t value) {
  const std::uint64_t generation = wire::Load(page->generation);
  wire::StoreRelease(&page->generation, generation + 1);
  for (std::uint64_t& limit : page->limits) wire::StoreRelease(&limit, value);
  wire::StoreRelease(&page->devices[2].rate_bytes_per_second, value);
  wire::StoreRelease(&page->devices[2].burst_bytes, value);
  wire::StoreRelease(&page->generation, generation + 2);
}

TEST(ReadPolicyTest, CopiesAWholePage) {
  wire::PolicyPage page{};
  page.state = static_cast<std::uint32_t>(wire::PolicyState::kDraining);
  page.traffic_class = 104;
  page.devices[15].burst_bytes = 9;
  wire::PolicyPage copy{};

  ASSERT_TRUE(ReadPolicy(page, &copy));

  EXPECT_EQ(copy.state, page.state);
  EXPECT_EQ(copy.traffic_class, 104);
  EXPECT_EQ(copy.devices[15].burst_bytes, 9U);
}

TEST(ReadPolicyTest, AnAgentThatDiedWhileWritingDoesNotHangUs) {
  wire::PolicyPage page{};
  page.generation = 7;
  wire::PolicyPage copy{};
  RateView view;

  EXPECT_FALSE(ReadPolicy(page, &copy));
  EXPECT_FALSE(ReadRate(page, 0, &view));
}

TEST(PolicyCacheTest, FallsBackToTheLastGoodCopy) {
  wire::PolicyPage page{};
  Write(&page, 5);
  PolicyCache cache;
  wire::PolicyPage copy{};
  ASSERT_TRUE(cache.Read(page, &copy));

  page.generation += 1;
  page.limits[0] = 99;
  page.devices[2].rate_bytes_per_second = 99;
  RateView view;

  ASSERT_TRUE(cache.Read(page, &copy));
  EXPECT_EQ(copy.limits[0], 5U);
  ASSERT_TRUE(cache.ReadRate(page, 2, &view));
  EXPECT_EQ(view.rate.rate_bytes_per_second, 5U);
}

TEST(PolicyCacheTest, WithoutAnyGoodCopyThereIsNoPolicy) {
  wire::PolicyPage page{};
  page.generation = 1;
  PolicyCache cache;
  wire::PolicyPage copy{};

  EXPECT_FALSE(cache.Read(page, &copy));
}

TEST(ReadPolicyTest, AReaderNeverSeesHalfAChange) {
  auto page = std::make_unique<wire::PolicyPage>();
  std::atomic<bool> done = false;
  std::thread writer([&] {
    for (std::uint64_t i = 1; i < 20000; ++i) Write(page.get(), i);
    done = true;
  });

  wire::PolicyPage copy{};
  RateView view;
  while (!done) {
    if (ReadPolicy(*page, &copy)) {
      ASSERT_EQ(copy.limits[0], copy.limits[31]);
      ASSERT_EQ(copy.limits[0], copy.devices[2].burst_bytes);
    }
    if (ReadRate(*page, 2, &view)) {
      ASSERT_EQ(view.rate.rate_bytes_per_second, view.rate.burst_bytes);
    }
  }
  writer.join();
}

}  // namespace
}  // namespace rb::shim
