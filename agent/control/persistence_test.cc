#include "agent/control/persistence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/run_task.h"
#include "tests/support/temp_tree.h"

namespace rb::agent {
namespace {

using test::RunTask;
using ::testing::Each;
using ::testing::IsTrue;

class PersistenceTest : public ::testing::Test {
 protected:
  std::string Snapshot() {
    ++writes_;
    return "state " + std::to_string(state_);
  }

  Task<void> SaveNext(std::vector<bool>* saved) {
    ++state_;
    const auto done = co_await persistence_.Save();
    saved->push_back(done.has_value());
  }

  void BreakDisk() { std::filesystem::rename(tree_.Path("state"), tree_.Path("lost")); }
  void RepairDisk() { std::filesystem::rename(tree_.Path("lost"), tree_.Path("state")); }

  test::TempTree tree_{{"state/file", "old"}};
  Loop loop_;
  BlockingPool pool_{loop_, 2};
  Persistence persistence_{loop_, pool_, tree_.Path("state/file"), [this] { return Snapshot(); }};
  int state_ = 0;
  int writes_ = 0;
};

TEST_F(PersistenceTest, SavesWhatIsThereWhenItIsCalled) {
  state_ = 7;

  ASSERT_TRUE(RunTask(loop_, persistence_.Save()));

  EXPECT_EQ(tree_.Read("state/file"), "state 7");
}

TEST_F(PersistenceTest, ManyCallersShareOneWrite) {
  constexpr int kCallers = 20;
  std::vector<bool> saved;
  for (int i = 0; i < kCallers; ++i) loop_.Spawn(SaveNext(&saved));

  loop_.Run();

  EXPECT_EQ(saved.size(), std::size_t{kCallers});
  EXPECT_THAT(saved, Each(IsTrue()));
  EXPECT_EQ(writes_, 2);  // the first caller's, and one for all who came during it
  EXPECT_EQ(tree_.Read("state/file"), "state 20");
}

TEST_F(PersistenceTest, AFailureIsReportedAndTheOldFileStands) {
  BreakDisk();

  const auto saved = RunTask(loop_, persistence_.Save());

  EXPECT_FALSE(saved);
  RepairDisk();
  EXPECT_EQ(tree_.Read("state/file"), "old");
}

TEST_F(PersistenceTest, AFailureIsReportedToEveryCaller) {
  BreakDisk();
  std::vector<bool> saved;
  for (int i = 0; i < 3; ++i) loop_.Spawn(SaveNext(&saved));

  loop_.Run();

  EXPECT_THAT(saved, testing::ElementsAre(false, false, false));
}

TEST_F(PersistenceTest, AfterAFailureALaterSaveSucceeds) {
  BreakDisk();
  ASSERT_FALSE(RunTask(loop_, persistence_.Save()));
  RepairDisk();
  state_ = 9;

  const auto saved = RunTask(loop_, persistence_.Save());

  EXPECT_TRUE(saved);
  EXPECT_EQ(tree_.Read("state/file"), "state 9");
}

}  // namespace
}  // namespace rb::agent
