#include "shim/fd_table.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

namespace rb::shim {
namespace {

class FdTableTest : public ::testing::Test {
 protected:
  FdTableTest() {
    lease_.counters = page_.get();
    for (wire::CounterSlot& slot : page_->slots) slot.holders = 1;
  }

  File* Insert(int fd, std::uint32_t slot) {
    ++lease_.files;
    return table_->Insert(fd, &lease_, slot, 0, 14);
  }

  wire::CounterSlot& Slot(std::uint32_t i) { return page_->slots[i]; }
  bool Closed(std::uint32_t i) {
    return Slot(i).state == static_cast<std::uint32_t>(wire::SlotState::kClosed);
  }

  std::unique_ptr<wire::CountersPage> page_ = std::make_unique<wire::CountersPage>();
  std::unique_ptr<FdTable> table_ = std::make_unique<FdTable>();
  Lease lease_;
};

TEST_F(FdTableTest, FindsWhatWasEntered) {
  File* file = Insert(7, 3);

  EXPECT_EQ(table_->Find(7), file);
  EXPECT_EQ(table_->Find(8), nullptr);
  EXPECT_EQ(table_->Find(-1), nullptr);
  EXPECT_EQ(table_->Find(1 << 30), nullptr);
}

TEST_F(FdTableTest, TheLastDescriptorReturnsTheCharges) {
  File* file = Insert(7, 3);
  Charge(file->account, wire::Limit::kPds, 1, 10, 1);
  ASSERT_TRUE(table_->Share(file, 9));

  EXPECT_EQ(table_->Remove(7), nullptr);
  EXPECT_EQ(page_->used[Index(wire::Limit::kPds)], 1U);
  File* last = table_->Remove(9);
  ASSERT_EQ(last, file);
  table_->Finish(last);

  EXPECT_EQ(page_->used[Index(wire::Limit::kPds)], 0U);
  EXPECT_TRUE(Closed(3));
  EXPECT_EQ(lease_.files, 0U);
}

TEST_F(FdTableTest, AForkedChildKeepsTheCharges) {
  File* file = Insert(7, 3);
  Charge(file->account, wire::Limit::kPds, 1, 10, 1);

  table_->BeforeFork();
  table_->AfterForkInParent();
  table_->Finish(table_->Remove(7));

  EXPECT_FALSE(Closed(3));
  EXPECT_EQ(page_->used[Index(wire::Limit::kPds)], 1U);
  EXPECT_EQ(Slot(3).holders, 1U);
}

TEST_F(FdTableTest, ADescriptorIsRemovedOnce) {
  Insert(7, 3);

  EXPECT_NE(table_->Remove(7), nullptr);
  EXPECT_EQ(table_->Remove(7), nullptr);
}

TEST_F(FdTableTest, RefusesTheFirstNumberBeyondTheTable) {
  File* file = Insert(FdTable::kDescriptorsMax - 1, 0);

  EXPECT_NE(file, nullptr);
  EXPECT_EQ(Insert(FdTable::kDescriptorsMax, 1), nullptr);
  EXPECT_FALSE(table_->Share(file, FdTable::kDescriptorsMax));
}

TEST_F(FdTableTest, RefusesOneFileMoreThanThereAreSlots) {
  for (std::uint32_t i = 0; i < FdTable::kFilesMax; ++i) {
    ASSERT_NE(Insert(static_cast<int>(i), i), nullptr);
  }

  EXPECT_EQ(Insert(static_cast<int>(FdTable::kFilesMax), 0), nullptr);
}

TEST_F(FdTableTest, APlaceIsUsedAgainAndRemembersNothing) {
  File* first = Insert(7, 3);
  first->objects.Set(1, 99);
  first->post_send = first;
  table_->Finish(table_->Remove(7));

  File* second = Insert(8, 4);

  EXPECT_EQ(second, first);
  EXPECT_EQ(second->objects.Get(1), 0U);
  EXPECT_EQ(second->post_send, nullptr);
  second->objects.Free(nullptr);
}

TEST_F(FdTableTest, AtTheEndEverythingIsGivenUpOnce) {
  File* file = Insert(7, 3);
  Insert(8, 4);
  table_->Share(file, 9);
  Charge(file->account, wire::Limit::kQps, 2, 10, 1);

  table_->Abandon();
  table_->Abandon();

  EXPECT_TRUE(Closed(3));
  EXPECT_TRUE(Closed(4));
  EXPECT_EQ(page_->used[Index(wire::Limit::kQps)], 0U);
  EXPECT_EQ(table_->Find(9), nullptr);
}

TEST_F(FdTableTest, ThreadsOpenAndCloseAtOnce) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      for (int i = 0; i < 500; ++i) {
        const auto slot = static_cast<std::uint32_t>((t * 200) + (i % 200));
        __atomic_store_n(&Slot(slot).holders, 1, __ATOMIC_RELAXED);
        __atomic_add_fetch(&lease_.files, 1, __ATOMIC_RELAXED);
        File* file = table_->Insert(t, &lease_, slot, 0, 14);
        ASSERT_EQ(table_->Find(t), file);
        Charge(file->account, wire::Limit::kCqs, 1, 100, 1);
        table_->Finish(table_->Remove(t));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(page_->used[Index(wire::Limit::kCqs)], 0U);
  EXPECT_EQ(lease_.files, 0U);
}

}  // namespace
}  // namespace rb::shim
