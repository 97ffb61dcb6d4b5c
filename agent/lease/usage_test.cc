#include "agent/lease/usage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <memory>

#include "agent/lease/settle.h"

namespace rb::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::size_t kQps = wire::Index(wire::Limit::kQps);
constexpr std::size_t kMrs = wire::Index(wire::Limit::kMrs);

class UsageTest : public ::testing::Test {
 protected:
  wire::CounterSlot& Slot(std::size_t index, wire::SlotState state) {
    page_->slots[index].state = static_cast<std::uint32_t>(state);
    return page_->slots[index];
  }

  // Too large for a stack.
  std::unique_ptr<wire::CountersPage> page_ = std::make_unique<wire::CountersPage>();
  std::array<std::uint64_t, wire::kLimitCount> seen_{};
};

TEST_F(UsageTest, AnEmptyPageCountsNothingButNamesEveryOperation) {
  const rest::LeaseUsage usage = ReadUsage(*page_);

  EXPECT_EQ(usage.used, rest::LeaseUsage{}.used);
  EXPECT_EQ(usage.ops.size(), wire::kOpCount);
  EXPECT_EQ(usage.ops.at("send"), rest::OpUsage{});
  EXPECT_EQ(usage.source, "shim");
}

TEST_F(UsageTest, AddsSlotsAndTheRetired) {
  page_->used[kQps] = 5;
  page_->retired[0].denials[kQps] = 1;
  page_->retired[0].ops[1] = {.messages = 1, .bytes = 100};
  page_->retired[0].throttled_ns = 10;
  wire::CounterSlot& open = Slot(0, wire::SlotState::kOpen);
  open.denials[kQps] = 2;
  open.ops[1] = {.messages = 2, .bytes = 200};
  open.throttled_ns = 20;
  // Closed by the shim, not settled by the agent yet: what it counted still counts.
  Slot(wire::kSlotsMax - 1, wire::SlotState::kClosed).ops[1] = {.messages = 4, .bytes = 400};

  const rest::LeaseUsage usage = ReadUsage(*page_);

  EXPECT_EQ(usage.used[kQps], 5U);
  EXPECT_EQ(usage.denials[kQps], 3U);
  EXPECT_EQ(usage.ops.at("write"), (rest::OpUsage{.messages = 7, .bytes = 700}));
  EXPECT_EQ(usage.throttled_ns, 30U);
}

TEST_F(UsageTest, WhatATenantWritesIntoAFreeSlotIsNotRead) {
  Slot(3, wire::SlotState::kFree).ops[0] = {.messages = 9, .bytes = 9};

  EXPECT_EQ(ReadUsage(*page_).ops.at("send"), rest::OpUsage{});
}

TEST_F(UsageTest, RetiringASlotChangesNoTotal) {
  wire::CounterSlot& slot = Slot(0, wire::SlotState::kOpen);
  slot.denials[kMrs] = 2;
  slot.ops[2] = {.messages = 3, .bytes = 30};
  slot.throttled_ns = 7;
  const rest::LeaseUsage before = ReadUsage(*page_);

  RetireSlot(page_.get(), 0);

  EXPECT_EQ(ReadUsage(*page_), before);
}

TEST_F(UsageTest, TellsDevicesApart) {
  page_->retired[1].ops[0] = {.messages = 1, .bytes = 10};
  page_->retired[1].throttled_ns = 5;
  wire::CounterSlot& open = Slot(0, wire::SlotState::kOpen);
  open.device_index = 1;
  open.ops[0] = {.messages = 2, .bytes = 20};
  Slot(1, wire::SlotState::kFree).ops[0] = {.messages = 9, .bytes = 9};

  const std::vector<DeviceUsage> usage = ReadDeviceUsage(*page_, 2);

  ASSERT_EQ(usage.size(), 2U);
  EXPECT_EQ(usage[0].ops[0].messages, 0U);
  EXPECT_EQ(usage[1].ops[0].messages, 3U);
  EXPECT_EQ(usage[1].ops[0].bytes, 30U);
  EXPECT_EQ(usage[1].throttled_ns, 5U);
}

TEST_F(UsageTest, ASlotOfADeviceThatTheLeaseHasNotCountsForNone) {
  wire::CounterSlot& open = Slot(0, wire::SlotState::kOpen);
  open.device_index = 0xFFFF'FFFF;
  open.ops[0] = {.messages = 2, .bytes = 20};

  const std::vector<DeviceUsage> usage = ReadDeviceUsage(*page_, wire::kLeaseDevicesMax);

  for (const DeviceUsage& device : usage) EXPECT_EQ(device.ops[0].bytes, 0U);
}

TEST_F(UsageTest, SettledTotalsAddWhatWasCountedAndNotWhatWasHeld) {
  rest::LeaseUsage settled;
  settled.used[kQps] = 9;
  settled.denials[kQps] = 1;
  settled.ops["read"] = {.messages = 1, .bytes = 10};
  settled.throttled_ns = 4;
  settled.processes = 3;
  rest::LeaseUsage usage;
  usage.used[kQps] = 2;
  usage.denials[kQps] = 1;
  usage.ops["read"] = {.messages = 2, .bytes = 20};
  usage.throttled_ns = 1;

  AddSettled(settled, &usage);

  EXPECT_EQ(usage.used[kQps], 2U);
  EXPECT_EQ(usage.denials[kQps], 2U);
  EXPECT_EQ(usage.ops.at("read"), (rest::OpUsage{.messages = 3, .bytes = 30}));
  EXPECT_EQ(usage.throttled_ns, 5U);
  EXPECT_EQ(usage.processes, 0U);
}

TEST_F(UsageTest, ANewDenialSaysWhatWasAskedAndByWhom) {
  Slot(0, wire::SlotState::kOpen).denials[kQps] = 2;
  page_->last_refusal[kQps] = {.used = 64, .asked = 1, .pid = 77};

  const std::vector<Denial> denials = NewDenials(*page_, &seen_);

  EXPECT_THAT(denials,
              ElementsAre(Denial{
                  .limit = wire::Limit::kQps, .count = 2, .used = 64, .asked = 1, .pid = 77}));
  EXPECT_EQ(seen_[kQps], 2U);
}

TEST_F(UsageTest, ADenialIsReportedOnceAndThenOnlyItsIncrease) {
  wire::CounterSlot& slot = Slot(0, wire::SlotState::kOpen);
  slot.denials[kQps] = 2;
  NewDenials(*page_, &seen_);

  const std::vector<Denial> again = NewDenials(*page_, &seen_);
  slot.denials[kQps] = 5;
  const std::vector<Denial> increased = NewDenials(*page_, &seen_);

  EXPECT_THAT(again, IsEmpty());
  ASSERT_EQ(increased.size(), 1U);
  EXPECT_EQ(increased[0].count, 3U);
}

TEST_F(UsageTest, RefusalsOutsideASlotAreSeenToo) {
  page_->retired[0].denials[0] = 1;

  const std::vector<Denial> denials = NewDenials(*page_, &seen_);

  ASSERT_EQ(denials.size(), 1U);
  EXPECT_EQ(denials[0].limit, wire::Limit::kContexts);
}

TEST_F(UsageTest, RetiringASlotIsNoNewDenial) {
  Slot(0, wire::SlotState::kOpen).denials[kQps] = 2;
  NewDenials(*page_, &seen_);

  RetireSlot(page_.get(), 0);

  EXPECT_THAT(NewDenials(*page_, &seen_), IsEmpty());
}

TEST_F(UsageTest, ACounterThatWentBackwardsIsNoDenialAndCountsOnFromThere) {
  wire::CounterSlot& slot = Slot(0, wire::SlotState::kOpen);
  slot.denials[kQps] = 10;
  NewDenials(*page_, &seen_);
  slot.denials[kQps] = 4;

  const std::vector<Denial> backwards = NewDenials(*page_, &seen_);
  slot.denials[kQps] = 5;
  const std::vector<Denial> onwards = NewDenials(*page_, &seen_);

  EXPECT_THAT(backwards, IsEmpty());
  ASSERT_EQ(onwards.size(), 1U);
  EXPECT_EQ(onwards[0].count, 1U);
}

TEST_F(UsageTest, CountersAtTheirLargestValueAreReadWithoutHarm) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  Slot(0, wire::SlotState::kOpen).denials[kQps] = kMost;
  Slot(1, wire::SlotState::kOpen).denials[kQps] = kMost;
  // A state that no one defined counts as taken.
  page_->slots[2].state = 77;
  page_->slots[2].ops[0] = {.messages = 1, .bytes = kMost};

  const rest::LeaseUsage usage = ReadUsage(*page_);

  EXPECT_EQ(usage.denials[kQps], kMost - 1);  // unsigned: it wraps
  EXPECT_EQ(usage.ops.at("send").bytes, kMost);
}

}  // namespace
}  // namespace rb::agent
