#include "agent/lease/settle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace rb::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr pid_t kParent = 100;
constexpr pid_t kOther = 200;

SlotNote Note(std::uint32_t slot, std::optional<std::uint32_t> context = {},
              pid_t opener = kParent) {
  return {.slot = slot, .device = "d0", .opener = opener, .context = context};
}

KernelContext Context(std::uint32_t number, std::optional<pid_t> creator = kParent,
                      std::string device = "d0") {
  return {.device = std::move(device), .number = number, .creator = creator};
}

SettleView View(std::vector<KernelContext> contexts) {
  return {.contexts = std::move(contexts),
          .alive = {kParent},
          .devices_held_open = {"d0"},
          .closed_slots = {}};
}

TEST(PlanSettleTest, LearnsTheContextWhileItsCreatorLives) {
  const SettlePlan plan = PlanSettle({Note(3)}, View({Context(7)}));

  EXPECT_THAT(plan.open, ElementsAre(Note(3, 7)));
  EXPECT_THAT(plan.over, IsEmpty());
}

TEST(PlanSettleTest, ASlotIsOverWhenItsContextIsGone) {
  const SettlePlan plan = PlanSettle({Note(0, 7), Note(1, 8)}, View({Context(8)}));

  EXPECT_THAT(plan.open, ElementsAre(Note(1, 8)));
  EXPECT_THAT(plan.over, ElementsAre(0U));
}

TEST(PlanSettleTest, AForkedChildKeepsTheSlotOfItsDeadParent) {
  // The kernel names no creator any more, but the context lives in the child.
  SettleView view = View({Context(7, std::nullopt)});
  view.alive = {kOther};

  const SettlePlan plan = PlanSettle({Note(0, 7)}, view);

  EXPECT_THAT(plan.open, ElementsAre(Note(0, 7)));
}

TEST(PlanSettleTest, TwoContextsOfOneProcessAreMatchedInOrderOfOpening) {
  const SettlePlan plan = PlanSettle({Note(4), Note(2)}, View({Context(12), Context(11)}));

  EXPECT_THAT(plan.open, ElementsAre(Note(4, 11), Note(2, 12)));
}

TEST(PlanSettleTest, AKnownContextIsNotGivenToASecondSlot) {
  const SettlePlan plan = PlanSettle({Note(0), Note(1, 7)}, View({Context(7), Context(9)}));

  EXPECT_THAT(plan.open, ElementsAre(Note(0, 9), Note(1, 7)));
}

TEST(PlanSettleTest, ContextsOfOthersAndOfOtherDevicesAreNotTaken) {
  SettleView view = View({Context(5, kOther), Context(6, kParent, "d1"), Context(7, std::nullopt)});

  const SettlePlan plan = PlanSettle({Note(0)}, view);

  EXPECT_THAT(plan.open, ElementsAre(Note(0)));
}

TEST(PlanSettleTest, TheSameContextNumberOnAnotherDeviceKeepsNothing) {
  const SettlePlan plan = PlanSettle({Note(0, 7)}, View({Context(7, kParent, "d1")}));

  EXPECT_THAT(plan.over, ElementsAre(0U));
}

TEST(PlanSettleTest, AClosedSlotWithoutAContextIsOver) {
  SettleView view = View({});
  view.closed_slots = {0};

  const SettlePlan plan = PlanSettle({Note(0), Note(1)}, view);

  EXPECT_THAT(plan.over, ElementsAre(0U));
  EXPECT_THAT(plan.open, ElementsAre(Note(1)));
}

TEST(PlanSettleTest, ClosedIsOnlyTheTenantsWord) {
  SettleView view = View({Context(7)});
  view.closed_slots = {0, 1};

  const SettlePlan known = PlanSettle({Note(0, 7)}, view);
  const SettlePlan learnt = PlanSettle({Note(1)}, view);

  EXPECT_THAT(known.open, ElementsAre(Note(0, 7)));
  EXPECT_THAT(learnt.open, ElementsAre(Note(1, 7)));
}

TEST(PlanSettleTest, AContextBelongsToTheOpenSlotBeforeTheClosedOne) {
  // Open, close, open again between two looks.
  SettleView view = View({Context(8)});
  view.closed_slots = {0};

  const SettlePlan plan = PlanSettle({Note(0), Note(1)}, view);

  EXPECT_THAT(plan.over, ElementsAre(0U));
  EXPECT_THAT(plan.open, ElementsAre(Note(1, 8)));
}

TEST(PlanSettleTest, AFileWithoutAContextIsOpenWhileItsOpenerLives) {
  SettleView view = View({});
  view.devices_held_open = {};

  EXPECT_THAT(PlanSettle({Note(0)}, view).open, ElementsAre(Note(0)));
}

TEST(PlanSettleTest, AFileWithoutAContextIsOpenWhileAChildHoldsTheDevice) {
  SettleView view = View({});
  view.alive = {kOther};

  EXPECT_THAT(PlanSettle({Note(0)}, view).open, ElementsAre(Note(0)));
}

TEST(PlanSettleTest, AFileWithoutAContextIsOverOnceNobodyHoldsIt) {
  SettleView view = View({});
  view.alive = {kOther};
  view.devices_held_open = {"d1"};

  EXPECT_THAT(PlanSettle({Note(0)}, view).over, ElementsAre(0U));
}

TEST(PlanSettleTest, NothingComesOfNothing) {
  EXPECT_EQ(PlanSettle({}, View({Context(1)})), SettlePlan{});
}

TEST(PlanSettleTest, PlanningTwiceChangesNothing) {
  const SettleView view = View({Context(11), Context(12)});
  const SettlePlan first = PlanSettle({Note(0), Note(1), Note(2, 5)}, view);

  const SettlePlan second = PlanSettle(first.open, view);

  EXPECT_EQ(second.open, first.open);
  EXPECT_THAT(second.over, IsEmpty());
}

TEST(PlanSettleTest, WhatADeadProcessHeldIsOverAlthoughASiblingHoldsTheDevice) {
  // One descriptor is open, and it is the sibling's: its context is known.
  SettleView view = View({Context(7, kOther)});
  view.alive = {kOther};

  const SettlePlan plan = PlanSettle({Note(0), Note(1, 7, kOther)}, view);

  EXPECT_THAT(plan.over, ElementsAre(0U));
  EXPECT_THAT(plan.open, ElementsAre(Note(1, 7, kOther)));
}

TEST(PlanSettleTest, ASecondDescriptorBesideTheSiblingsMayBeTheDeadProcesss) {
  SettleView view = View({Context(7, kOther)});
  view.alive = {kOther};
  view.devices_held_open = {"d0", "d0"};

  EXPECT_THAT(PlanSettle({Note(0), Note(1, 7, kOther)}, view).over, IsEmpty());
}

// Slots that an agent found in the page when it started.
SlotNote Restored(std::uint32_t slot, std::optional<std::uint32_t> context = {},
                  std::set<std::uint32_t> candidates = {}) {
  SlotNote note = Note(slot, context);
  note.restored = true;
  note.candidates = std::move(candidates);
  return note;
}

TEST(PlanSettleRestoredTest, OneSlotAndOneContextBelongTogether) {
  const SettlePlan plan = PlanSettle({Restored(3)}, View({Context(7)}));

  EXPECT_THAT(plan.open, ElementsAre(Restored(3, 7)));
}

TEST(PlanSettleRestoredTest, SeveralAreNotMatchedByTheirOrder) {
  const SettlePlan plan = PlanSettle({Restored(0), Restored(1)}, View({Context(11), Context(12)}));

  EXPECT_THAT(plan.open, ElementsAre(Restored(0, {}, {11, 12}), Restored(1, {}, {11, 12})));
  EXPECT_THAT(plan.over, IsEmpty());
}

TEST(PlanSettleRestoredTest, TheClosedOneIsOverWhenAContextIsGoneWhicheverItWas) {
  const std::vector<SlotNote> notes{Restored(0, {}, {11, 12}), Restored(1, {}, {11, 12})};
  for (const std::uint32_t left : {11U, 12U}) {
    SettleView view = View({Context(left)});
    view.closed_slots = {0};

    const SettlePlan plan = PlanSettle(notes, view);

    EXPECT_THAT(plan.over, ElementsAre(0U));
    EXPECT_THAT(plan.open, ElementsAre(Restored(1, left)));
  }
}

TEST(PlanSettleRestoredTest, ClosedIsOnlyTheTenantsWordWhileAllContextsLive) {
  SettleView view = View({Context(11), Context(12)});
  view.closed_slots = {0, 1};

  const SettlePlan plan = PlanSettle({Restored(0), Restored(1)}, view);

  EXPECT_THAT(plan.over, IsEmpty());
}

TEST(PlanSettleRestoredTest, NoMoreClosedSlotsAreOverThanContextsAreMissing) {
  SettleView view = View({Context(12)});
  view.closed_slots = {0, 1, 2};

  const SettlePlan plan = PlanSettle({Restored(0), Restored(1), Restored(2)}, view);

  EXPECT_THAT(plan.over, ElementsAre(0U, 1U));
  EXPECT_THAT(plan.open, ElementsAre(Restored(2, 12)));
}

TEST(PlanSettleRestoredTest, AnOpenSlotIsNotGivenBackOnAGuess) {
  // One context is gone without the shim's word: which slot was it?
  const SettlePlan plan =
      PlanSettle({Restored(0, {}, {11, 12}), Restored(1, {}, {11, 12})}, View({Context(12)}));

  EXPECT_THAT(plan.over, IsEmpty());
  EXPECT_THAT(plan.open, ElementsAre(Restored(0, {}, {12}), Restored(1, {}, {12})));
}

TEST(PlanSettleRestoredTest, AForkedChildKeepsTheGroupOfItsDeadParent) {
  SettleView view = View({Context(12, std::nullopt)});
  view.alive = {kOther};

  const SettlePlan plan = PlanSettle({Restored(0, {}, {11, 12}), Restored(1, {}, {11, 12})}, view);

  EXPECT_THAT(plan.over, IsEmpty());
}

TEST(PlanSettleRestoredTest, TheGroupOfADeadProcessIsOverWithItsContexts) {
  SettleView view = View({Context(7, kOther)});
  view.alive = {kOther};

  const SettlePlan plan =
      PlanSettle({Restored(0, {}, {11, 12}), Restored(1, {}, {11, 12}), Note(2, 7, kOther)}, view);

  EXPECT_THAT(plan.over, ElementsAre(0U, 1U));
}

TEST(PlanSettleRestoredTest, ASlotOfTheNewAgentTakesNoContextOfTheGroup) {
  const std::vector<SlotNote> notes{Restored(0, {}, {11, 12}), Restored(1, {}, {11, 12}), Note(2)};

  const SettlePlan before = PlanSettle(notes, View({Context(11), Context(12)}));
  const SettlePlan after = PlanSettle(notes, View({Context(11), Context(12), Context(13)}));

  EXPECT_EQ(before.open[2], Note(2));
  EXPECT_EQ(after.open[2], Note(2, 13));
}

TEST(PlanSettleRestoredTest, ProcessesAndDevicesAreGroupsOfTheirOwn) {
  SlotNote other = Restored(1);
  other.opener = kOther;
  SettleView view = View({Context(11), Context(12, kOther)});
  view.alive = {kParent, kOther};

  const SettlePlan plan = PlanSettle({Restored(0), other}, view);

  EXPECT_EQ(plan.open[0].context, 11U);
  EXPECT_EQ(plan.open[1].context, 12U);
}

TEST(PlanSettleRestoredTest, PlanningTwiceChangesNothing) {
  const SettleView view = View({Context(11), Context(12)});
  const SettlePlan first = PlanSettle({Restored(0), Restored(1)}, view);

  EXPECT_EQ(PlanSettle(first.open, view), first);
}

class RetireSlotTest : public ::testing::Test {
 protected:
  wire::CounterSlot& slot() { return page_->slots[5]; }

  // Too large for a stack.
  std::unique_ptr<wire::CountersPage> page_ = std::make_unique<wire::CountersPage>();
};

TEST_F(RetireSlotTest, GivesBackOnlyWhatTheSlotHeld) {
  page_->used[1] = 10;
  slot().used[1] = 4;
  page_->slots[6].used[1] = 6;

  RetireSlot(page_.get(), 5);

  EXPECT_EQ(page_->used[1], 6U);
  EXPECT_EQ(slot().used[1], 0U);
  EXPECT_EQ(page_->slots[6].used[1], 6U);
}

TEST_F(RetireSlotTest, MovesWhatWasCountedToTheRetired) {
  page_->retired[0].ops[1] = {.messages = 1, .bytes = 10};
  slot().denials[2] = 3;
  slot().ops[1] = {.messages = 2, .bytes = 20};
  slot().throttled_ns = 5;
  slot().throttled_posts = 6;
  slot().class_rewrites = 7;

  RetireSlot(page_.get(), 5);

  EXPECT_EQ(page_->retired[0].denials[2], 3U);
  EXPECT_EQ(page_->retired[0].ops[1].messages, 3U);
  EXPECT_EQ(page_->retired[0].ops[1].bytes, 30U);
  EXPECT_EQ(page_->retired[0].throttled_ns, 5U);
  EXPECT_EQ(page_->retired[0].throttled_posts, 6U);
  EXPECT_EQ(page_->retired[0].class_rewrites, 7U);
}

TEST_F(RetireSlotTest, LeavesAFreeSlotThatTheNextOpenerFindsEmpty) {
  slot().state = static_cast<std::uint32_t>(wire::SlotState::kOpen);
  slot().holders = 2;
  slot().denials[0] = 1;
  slot().ops[0] = {.messages = 1, .bytes = 1};
  slot().throttled_ns = 1;

  RetireSlot(page_.get(), 5);

  EXPECT_EQ(slot().state, static_cast<std::uint32_t>(wire::SlotState::kFree));
  EXPECT_EQ(slot().holders, 0U);
  EXPECT_EQ(slot().denials[0], 0U);
  EXPECT_EQ(slot().ops[0].messages, 0U);
  EXPECT_EQ(slot().throttled_ns, 0U);
}

TEST_F(RetireSlotTest, CountsForTheDeviceOfTheSlot) {
  slot().device_index = wire::kLeaseDevicesMax - 1;
  slot().ops[0] = {.messages = 1, .bytes = 8};

  RetireSlot(page_.get(), 5);

  EXPECT_EQ(page_->retired.back().ops[0].bytes, 8U);
  EXPECT_EQ(page_->retired[0].ops[0].bytes, 0U);
}

TEST_F(RetireSlotTest, ADeviceIndexThatATenantScribbledStaysInsideThePage) {
  slot().device_index = wire::kLeaseDevicesMax;
  slot().ops[0] = {.messages = 1, .bytes = 8};

  RetireSlot(page_.get(), 5);

  EXPECT_EQ(page_->retired[0].ops[0].bytes, 8U);
}

TEST_F(RetireSlotTest, RetiringTwiceGivesBackOnce) {
  page_->used[1] = 10;
  slot().used[1] = 4;
  slot().denials[1] = 1;

  RetireSlot(page_.get(), 5);
  RetireSlot(page_.get(), 5);

  EXPECT_EQ(page_->used[1], 6U);
  EXPECT_EQ(page_->retired[0].denials[1], 1U);
  EXPECT_EQ(page_->retired[0].state, static_cast<std::uint32_t>(wire::SlotState::kFree));
}

}  // namespace
}  // namespace rb::agent
