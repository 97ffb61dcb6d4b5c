#include "api/wire/pages.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>

namespace rb::wire {
namespace {

TEST(LimitTableTest, NamesAreUnique) {
  std::set<std::string> names;

  for (const LimitRow& row : kLimitTable) names.insert(row.name);

  EXPECT_EQ(names.size(), kLimitCount);
}

TEST(PagesTest, ThereIsRoomForEveryLimit) { EXPECT_LE(kLimitCount, kPageLimits); }

TEST(ReturnChargesTest, GivesBackEachUnitOnce) {
  auto page = std::make_unique<CountersPage>();
  CounterSlot& slot = page->slots[3];
  page->used[Index(Limit::kQps)] = 10;
  slot.used[Index(Limit::kQps)] = 4;

  ReturnCharges(page.get(), &slot);
  ReturnCharges(page.get(), &slot);

  EXPECT_EQ(page->used[Index(Limit::kQps)], 6U);
  EXPECT_EQ(slot.used[Index(Limit::kQps)], 0U);
}

}  // namespace
}  // namespace rb::wire
