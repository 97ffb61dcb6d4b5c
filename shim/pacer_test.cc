#include "shim/pacer.h"

#include <gtest/gtest.h>

#include <random>

namespace rb::shim {
namespace {

constexpr std::uint64_t kMs = 1'000'000;
constexpr std::uint64_t kStart = 1'000'000 * kMs;
constexpr std::uint64_t kKiB = 1024;
constexpr wire::DeviceRate kRate{.rate_bytes_per_second = 1'000'000, .burst_bytes = 10'000};

TEST(TryPassTest, TheBurstGoesAtOnceAndOneByteMoreWaits) {
  wire::PaceBucket bucket{};

  EXPECT_EQ(TryPass(&bucket, kRate, 10'000, kStart), 0U);
  EXPECT_EQ(TryPass(&bucket, kRate, 1, kStart), 1'000U);  // one byte is a microsecond
}

TEST(TryPassTest, AWaitThatIsServedPasses) {
  wire::PaceBucket bucket{};
  TryPass(&bucket, kRate, 10'000, kStart);

  const std::uint64_t wait = TryPass(&bucket, kRate, 4'000, kStart);

  EXPECT_EQ(wait, 4 * kMs);
  EXPECT_EQ(TryPass(&bucket, kRate, 4'000, kStart + wait - 1), 1U);
  EXPECT_EQ(TryPass(&bucket, kRate, 4'000, kStart + wait), 0U);
}

TEST(TryPassTest, IdleTimeIsCreditedUpToTheBurstOnly) {
  wire::PaceBucket bucket{};
  TryPass(&bucket, kRate, 10'000, kStart);

  const std::uint64_t later = kStart + (3'600'000 * kMs);
  EXPECT_EQ(TryPass(&bucket, kRate, 10'000, later), 0U);
  EXPECT_GT(TryPass(&bucket, kRate, 1, later), 0U);
}

TEST(TryPassTest, ARequestAboveTheBurstIsChargedInFull) {
  wire::PaceBucket bucket{};

  EXPECT_EQ(TryPass(&bucket, kRate, 50'000, kStart), 0U);

  // 50 ms of debt, of which the burst covers 10; the next needs 1 ms of room more.
  EXPECT_EQ(TryPass(&bucket, kRate, 1'000, kStart), 41 * kMs);
}

TEST(TryPassTest, ARequestAboveTheBurstWaitsForAFullBucket) {
  wire::PaceBucket bucket{};
  TryPass(&bucket, kRate, 2'000, kStart);

  EXPECT_EQ(TryPass(&bucket, kRate, 50'000, kStart), 2 * kMs);
}

TEST(TryPassTest, NoBurstMeansOneAfterTheOther) {
  constexpr wire::DeviceRate kNoBurst{.rate_bytes_per_second = 1'000'000, .burst_bytes = 0};
  wire::PaceBucket bucket{};

  EXPECT_EQ(TryPass(&bucket, kNoBurst, 1'000, kStart), 0U);
  EXPECT_EQ(TryPass(&bucket, kNoBurst, 1'000, kStart), 1 * kMs);
}

TEST(TryPassTest, ZeroBytesWaitWhileThereIsMoreDebtThanBurst) {
  wire::PaceBucket bucket{};
  TryPass(&bucket, kRate, 50'000, kStart);

  EXPECT_EQ(TryPass(&bucket, kRate, 0, kStart), 40 * kMs);
  EXPECT_EQ(TryPass(&bucket, kRate, 0, kStart + (40 * kMs)), 0U);
}

TEST(TryPassTest, ALowerRateStretchesTheDebt) {
  constexpr wire::DeviceRate kQuarter{.rate_bytes_per_second = 250'000, .burst_bytes = 10'000};
  wire::PaceBucket bucket{};
  TryPass(&bucket, kRate, 10'000, kStart);

  // 10,000 bytes owed, burst 10,000: 1,000 more need 1,000 bytes of time, 4 ms at the new rate.
  EXPECT_EQ(TryPass(&bucket, kQuarter, 1'000, kStart), 4 * kMs);
}

TEST(TryPassTest, AHigherRateShortensTheDebt) {
  constexpr wire::DeviceRate kTenfold{.rate_bytes_per_second = 10'000'000, .burst_bytes = 10'000};
  wire::PaceBucket bucket{};
  TryPass(&bucket, kRate, 50'000, kStart);

  EXPECT_EQ(TryPass(&bucket, kTenfold, 1'000, kStart), 4'100'000U);
}

TEST(RefundTest, WhatDidNotGoIsNotOwed) {
  wire::PaceBucket bucket{};
  TryPass(&bucket, kRate, 10'000, kStart);

  Refund(&bucket, kRate, 10'000);

  EXPECT_EQ(TryPass(&bucket, kRate, 10'000, kStart), 0U);
}

TEST(ChargePassedTest, TheNextRequestPays) {
  wire::PaceBucket bucket{};

  ChargePassed(&bucket, kRate, 30'000, kStart);

  EXPECT_EQ(TryPass(&bucket, kRate, 0, kStart), 20 * kMs);
}

TEST(TryPassTest, HugeSumsDoNotWrap) {
  constexpr wire::DeviceRate kSlow{.rate_bytes_per_second = 1, .burst_bytes = 1};
  wire::PaceBucket bucket{};

  EXPECT_EQ(TryPass(&bucket, kSlow, ~std::uint64_t{0}, kStart), 0U);
  EXPECT_GT(TryPass(&bucket, kSlow, 1, kStart), std::uint64_t{1} << 60);
}

// Whatever the sizes and however late the waker: never more than rate x time + burst, and close to
// the rate when there is always something to send.
TEST(TryPassTest, LateWakersKeepTheRateAndNeverPassIt) {
  constexpr wire::DeviceRate kReal{.rate_bytes_per_second = 20U << 20, .burst_bytes = 1U << 20};
  std::mt19937_64 random(1);  // seeded: a failure replays
  wire::PaceBucket bucket{};
  std::uint64_t now = kStart;
  std::uint64_t passed = 0;

  while (now < kStart + (10'000 * kMs)) {
    const std::uint64_t size = 1 + (random() % (64 * kKiB));
    while (const std::uint64_t wait = TryPass(&bucket, kReal, size, now)) {
      now += wait + (random() % (20 * kMs));  // woken up to 20 ms late
    }
    passed += size;
    const double allowed =
        (static_cast<double>(now - kStart) * 1e-9 * static_cast<double>(20U << 20)) + (1U << 20);
    ASSERT_LE(static_cast<double>(passed), allowed + 1);
  }

  EXPECT_GT(static_cast<double>(passed), 10.0 * (20U << 20) * 0.99);
}

}  // namespace
}  // namespace rb::shim
