#include "shim/ledger.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

namespace rb::shim {
namespace {

using wire::Limit;

class LedgerTest : public ::testing::Test {
 protected:
  std::uint64_t Used(Limit limit) const { return page_->used[Index(limit)]; }
  std::uint64_t Held(Limit limit) const { return page_->slots[0].used[Index(limit)]; }

  std::unique_ptr<wire::CountersPage> page_ = std::make_unique<wire::CountersPage>();
  Account account_{.page = page_.get(), .slot = &page_->slots[0]};
};

TEST_F(LedgerTest, GrantsTheLastUnitAndRefusesOneMore) {
  EXPECT_TRUE(Charge(account_, Limit::kQps, 1, 2, 7));
  EXPECT_TRUE(Charge(account_, Limit::kQps, 1, 2, 7));

  EXPECT_FALSE(Charge(account_, Limit::kQps, 1, 2, 7));

  EXPECT_EQ(Used(Limit::kQps), 2U);
  EXPECT_EQ(Held(Limit::kQps), 2U);
}

TEST_F(LedgerTest, ARefusalSaysWhoAskedForWhat) {
  Charge(account_, Limit::kMrBytes, 60, 100, 7);

  EXPECT_FALSE(Charge(account_, Limit::kMrBytes, 41, 100, 7));

  const wire::Refusal& refusal = page_->last_refusal[Index(Limit::kMrBytes)];
  EXPECT_EQ(refusal.used, 60U);
  EXPECT_EQ(refusal.asked, 41U);
  EXPECT_EQ(refusal.pid, 7U);
  EXPECT_EQ(page_->slots[0].denials[Index(Limit::kMrBytes)], 1U);
}

// An implicit on-demand-paging region asks for all of the address space: the sum would wrap.
TEST_F(LedgerTest, ASumThatWrapsIsRefused) {
  Charge(account_, Limit::kMrBytes, 60, 100, 7);

  EXPECT_FALSE(Charge(account_, Limit::kMrBytes, ~std::uint64_t{0}, 100, 7));

  EXPECT_EQ(Used(Limit::kMrBytes), 60U);
}

// A PATCH may lower a limit below what is in use.
TEST_F(LedgerTest, ALoweredLimitRefusesUntilEnoughIsGivenBack) {
  Charge(account_, Limit::kQps, 5, 8, 7);

  EXPECT_FALSE(Charge(account_, Limit::kQps, 1, 3, 7));
  GiveBack(account_, Limit::kQps, 3);
  EXPECT_TRUE(Charge(account_, Limit::kQps, 1, 3, 7));
}

TEST_F(LedgerTest, GivesBackNoMoreThanTheSlotHolds) {
  page_->used[Index(Limit::kQps)] = 10;
  Charge(account_, Limit::kQps, 2, 20, 7);

  GiveBack(account_, Limit::kQps, 5);

  EXPECT_EQ(Used(Limit::kQps), 10U);
  EXPECT_EQ(Held(Limit::kQps), 0U);
}

TEST_F(LedgerTest, ThreadsNeverPassTheLimitTogether) {
  constexpr std::uint64_t kLimit = 100;
  std::vector<std::thread> threads;
  std::atomic<std::uint64_t> granted = 0;

  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this, &granted] {
      for (int i = 0; i < 100; ++i) granted += Charge(account_, Limit::kCqs, 1, kLimit, 7) ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(granted, kLimit);
  EXPECT_EQ(Used(Limit::kCqs), kLimit);
  EXPECT_EQ(page_->slots[0].denials[Index(Limit::kCqs)], 300U);
}

}  // namespace
}  // namespace rb::shim
