#include "shim/traffic.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <thread>

#include "shim/clock.h"

namespace rb::shim {
namespace {

class TrafficTest : public ::testing::Test {
 protected:
  TrafficTest() {
    policy_->state = static_cast<std::uint32_t>(wire::PolicyState::kActive);
    policy_->flags = wire::kPolicyAccounting;
    lease_.policy = policy_.get();
    lease_.counters = page_.get();
    file_.lease = &lease_;
    file_.account = {.page = page_.get(), .slot = &page_->slots[0]};
    file_.device_index = 1;
  }

  void Patch(std::uint64_t rate, std::uint64_t burst, wire::PolicyState state) {
    wire::StoreRelease(&policy_->generation, wire::Load(policy_->generation) + 1);
    wire::StoreRelease(&policy_->state, static_cast<std::uint32_t>(state));
    wire::StoreRelease(&policy_->devices[1].rate_bytes_per_second, rate);
    wire::StoreRelease(&policy_->devices[1].burst_bytes, burst);
    wire::StoreRelease(&policy_->generation, wire::Load(policy_->generation) + 1);
  }

  const wire::CounterSlot& slot() const { return page_->slots[0]; }

  std::unique_ptr<wire::PolicyPage> policy_ = std::make_unique<wire::PolicyPage>();
  std::unique_ptr<wire::CountersPage> page_ = std::make_unique<wire::CountersPage>();
  Lease lease_;
  File file_;
  Passage passage_;
};

TEST_F(TrafficTest, AnUnpacedLeaseNeverWaitsAndTouchesNoBucket) {
  EXPECT_EQ(WaitToPass(&file_, 1U << 30, &passage_), 0);

  EXPECT_TRUE(passage_.counted);
  EXPECT_EQ(page_->buckets[1].arrival_ns, 0U);
  EXPECT_EQ(slot().throttled_posts, 0U);
}

TEST_F(TrafficTest, AWaitIsServedAndCounted) {
  Patch(1'000'000, 1'000, wire::PolicyState::kActive);
  ASSERT_EQ(WaitToPass(&file_, 1'000, &passage_), 0);
  const std::uint64_t start = NowNs();

  ASSERT_EQ(WaitToPass(&file_, 5'000, &passage_), 0);  // waits for a full bucket: 1 ms

  EXPECT_GE(NowNs() - start, 900'000U);
  EXPECT_EQ(slot().throttled_posts, 1U);
  EXPECT_GE(slot().throttled_ns, 900'000U);
}

TEST_F(TrafficTest, ARevokedLeaseDoesNotPost) {
  Patch(0, 0, wire::PolicyState::kRevoked);

  EXPECT_EQ(WaitToPass(&file_, 1, &passage_), EACCES);
}

// The debt would last for hours: the test only ends because the waiter looks at the policy again.
TEST_F(TrafficTest, APatchReachesAThreadThatIsWaiting) {
  Patch(1, 1, wire::PolicyState::kActive);
  ASSERT_EQ(WaitToPass(&file_, 10'000, &passage_), 0);
  std::thread waiter([this] { EXPECT_EQ(WaitToPass(&file_, 1, &passage_), 0); });

  Patch(1'000'000'000, 1'000, wire::PolicyState::kActive);
  waiter.join();

  EXPECT_EQ(passage_.rate.rate_bytes_per_second, 1'000'000'000U);
}

TEST_F(TrafficTest, ARevokeReachesAThreadThatIsWaiting) {
  Patch(1, 1, wire::PolicyState::kActive);
  ASSERT_EQ(WaitToPass(&file_, 10'000, &passage_), 0);
  int result = 0;
  std::thread waiter([this, &result] { result = WaitToPass(&file_, 1, &passage_); });

  Patch(1, 1, wire::PolicyState::kRevoked);
  waiter.join();

  EXPECT_EQ(result, EACCES);
}

TEST_F(TrafficTest, CountsOnlyWhenTheLeaseWantsIt) {
  Work work;
  work.Add(wire::Op::kRead, 2, 300);

  Count(&file_, work, {.counted = true, .rate = {}});
  Count(&file_, work, {.counted = false, .rate = {}});

  const wire::OpCount& read = slot().ops[static_cast<std::size_t>(wire::Op::kRead)];
  EXPECT_EQ(read.messages, 2U);
  EXPECT_EQ(read.bytes, 300U);
}

TEST_F(TrafficTest, WhatTheProviderRefusedIsNotOwed) {
  Patch(1'000, 1'000, wire::PolicyState::kActive);
  ASSERT_EQ(WaitToPass(&file_, 1'000, &passage_), 0);
  const std::uint64_t owed = page_->buckets[1].arrival_ns;

  TakeBack(&file_, 1'000, passage_);

  EXPECT_EQ(page_->buckets[1].arrival_ns, owed - 1'000'000'000);
}

TEST_F(TrafficTest, KeepsErrno) {
  Patch(1'000'000, 1, wire::PolicyState::kActive);
  errno = 77;

  ASSERT_EQ(WaitToPass(&file_, 300, &passage_), 0);
  ASSERT_EQ(WaitToPass(&file_, 300, &passage_), 0);

  EXPECT_EQ(errno, 77);
}

}  // namespace
}  // namespace rb::shim
