#include "agent/lease/checkpoint_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "tests/support/temp_tree.h"

namespace rb::agent {
namespace {

using test::TempTree;
using ::testing::HasSubstr;

rest::Checkpoint Saved(std::uint64_t next_event) {
  rest::StoredLease stored;
  stored.lease.metadata.name = "lease-0123456789abcdef";
  stored.lease.spec.tenant = "t";
  stored.token_hash = "ab12";
  stored.expires_boot_ns = 1'000;
  return {.boot_id = "b", .next_revision = 3, .next_event = next_event, .leases = {stored}};
}

class CheckpointFileTest : public ::testing::Test {
 protected:
  std::size_t FileCount() const {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(tree_.root())) {
      ++count;
    }
    return count;
  }

  TempTree tree_;
  std::string path_ = tree_.Path("checkpoint");
};

TEST_F(CheckpointFileTest, AFileThatNeverWasIsNothing) {
  const auto loaded = LoadCheckpoint(path_);

  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_FALSE(*loaded);
}

TEST_F(CheckpointFileTest, LoadsWhatWasSaved) {
  ASSERT_TRUE(SaveCheckpoint(path_, rest::DumpCheckpoint(Saved(7))));

  const auto loaded = LoadCheckpoint(path_);

  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(*loaded, Saved(7));
}

TEST_F(CheckpointFileTest, OnlyRootReadsTheTokenHashes) {
  ASSERT_TRUE(SaveCheckpoint(path_, rest::DumpCheckpoint(Saved(7))));

  struct stat facts{};
  ASSERT_EQ(::stat(path_.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777U, 0600U);
}

TEST_F(CheckpointFileTest, SavingReplacesTheWholeFileAndLeavesNothingBeside) {
  const std::string first = rest::DumpCheckpoint(Saved(7)) + std::string(4096, ' ');
  ASSERT_TRUE(SaveCheckpoint(path_, first));
  struct stat before{};
  ASSERT_EQ(::stat(path_.c_str(), &before), 0);

  ASSERT_TRUE(SaveCheckpoint(path_, rest::DumpCheckpoint(Saved(8))));

  // Another inode: the old file was never written into, so a crash leaves one of the two whole.
  struct stat after{};
  ASSERT_EQ(::stat(path_.c_str(), &after), 0);
  EXPECT_NE(after.st_ino, before.st_ino);
  EXPECT_EQ(tree_.Read("checkpoint"), rest::DumpCheckpoint(Saved(8)));
  EXPECT_EQ(FileCount(), 1U);
}

TEST_F(CheckpointFileTest, AFailedSaveKeepsTheOldFile) {
  ASSERT_TRUE(SaveCheckpoint(path_, rest::DumpCheckpoint(Saved(7))));
  std::filesystem::create_directory(path_ + ".new");  // where the new content would be written

  const auto saved = SaveCheckpoint(path_, "new");

  EXPECT_FALSE(saved);
  EXPECT_EQ(tree_.Read("checkpoint"), rest::DumpCheckpoint(Saved(7)));
}

TEST_F(CheckpointFileTest, WhatACrashLeftOfASaveIsNotRead) {
  ASSERT_TRUE(SaveCheckpoint(path_, rest::DumpCheckpoint(Saved(7))));
  tree_.Write("checkpoint.new", rest::DumpCheckpoint(Saved(8)).substr(0, 40));

  const auto loaded = LoadCheckpoint(path_);

  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ((*loaded)->next_event, 7U);
}

TEST_F(CheckpointFileTest, ADamagedFileIsSetAsideWholeAndNamed) {
  const std::string damaged = rest::DumpCheckpoint(Saved(7)).substr(0, 60);
  tree_.Write("checkpoint", damaged);

  const auto loaded = LoadCheckpoint(path_);

  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, ErrorCode::kCorrupt);
  EXPECT_THAT(loaded.error().message, HasSubstr("set aside as " + path_ + ".corrupt-1"));
  EXPECT_FALSE(tree_.Exists("checkpoint"));
  EXPECT_EQ(tree_.Read("checkpoint.corrupt-1"), damaged);
}

TEST_F(CheckpointFileTest, ASecondDamagedFileGetsAnotherName) {
  tree_.Write("checkpoint", "first");
  ASSERT_FALSE(LoadCheckpoint(path_));
  tree_.Write("checkpoint", "second");

  const auto loaded = LoadCheckpoint(path_);

  ASSERT_FALSE(loaded);
  EXPECT_EQ(tree_.Read("checkpoint.corrupt-1"), "first");
  EXPECT_EQ(tree_.Read("checkpoint.corrupt-2"), "second");
}

TEST_F(CheckpointFileTest, AfterADamagedFileTheNextStartIsClean) {
  tree_.Write("checkpoint", "");
  ASSERT_FALSE(LoadCheckpoint(path_));

  const auto loaded = LoadCheckpoint(path_);

  ASSERT_TRUE(loaded);
  EXPECT_FALSE(*loaded);
}

TEST_F(CheckpointFileTest, WhatCannotBeReadIsNotTakenForDamagedOrMissing) {
  std::filesystem::create_directory(path_);

  const auto loaded = LoadCheckpoint(path_);

  ASSERT_FALSE(loaded);
  EXPECT_NE(loaded.error().code, ErrorCode::kCorrupt);
  EXPECT_TRUE(tree_.Exists("checkpoint"));
}

}  // namespace
}  // namespace rb::agent
