#include "common/bare/unique_fd.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <utility>

namespace rb {
namespace {

bool IsOpen(int fd) { return ::fcntl(fd, F_GETFD) >= 0 || errno != EBADF; }

UniqueFd OpenNull() { return UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }

TEST(UniqueFdTest, IsEmptyByDefault) {
  const UniqueFd fd;

  EXPECT_FALSE(fd);
  EXPECT_EQ(fd.get(), -1);
}

TEST(UniqueFdTest, ClosesAtTheEndOfItsScope) {
  int number = -1;
  {
    const UniqueFd fd = OpenNull();
    ASSERT_TRUE(fd);
    number = fd.get();
    EXPECT_TRUE(IsOpen(number));
  }

  EXPECT_FALSE(IsOpen(number));
}

TEST(UniqueFdTest, MovingLeavesTheSourceEmptyAndTheDescriptorOpen) {
  UniqueFd source = OpenNull();
  const int number = source.get();

  const UniqueFd target(std::move(source));

  EXPECT_FALSE(source);  // NOLINT(bugprone-use-after-move): that is the promise
  EXPECT_EQ(target.get(), number);
  EXPECT_TRUE(IsOpen(number));
}

TEST(UniqueFdTest, MoveAssignmentClosesWhatTheTargetHeld) {
  UniqueFd target = OpenNull();
  UniqueFd source = OpenNull();
  const int old_number = target.get();
  const int new_number = source.get();

  target = std::move(source);

  EXPECT_FALSE(IsOpen(old_number));
  EXPECT_EQ(target.get(), new_number);
  EXPECT_TRUE(IsOpen(new_number));
}

TEST(UniqueFdTest, MoveAssignmentToItselfKeepsTheDescriptor) {
  UniqueFd fd = OpenNull();
  const int number = fd.get();
  UniqueFd& same = fd;

  fd = std::move(same);

  EXPECT_EQ(fd.get(), number);
  EXPECT_TRUE(IsOpen(number));
}

TEST(UniqueFdTest, ReleaseGivesTheDescriptorAwayOpen) {
  UniqueFd fd = OpenNull();

  const int number = fd.Release();

  EXPECT_FALSE(fd);
  EXPECT_TRUE(IsOpen(number));
  const UniqueFd owner(number);
}

TEST(UniqueFdTest, ResetTakesTheNewDescriptorAndClosesTheOld) {
  UniqueFd fd = OpenNull();
  const int old_number = fd.get();
  UniqueFd next = OpenNull();

  fd.Reset(next.Release());

  EXPECT_FALSE(IsOpen(old_number));
  EXPECT_TRUE(IsOpen(fd.get()));
}

}  // namespace
}  // namespace rb
