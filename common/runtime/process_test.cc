#include "common/runtime/process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace rb {
namespace {

// A process that waits to be killed, and is.
class Child {
 public:
  Child() : pid_(::fork()) {
    if (pid_ == 0) {
      ::pause();
      ::_exit(0);
    }
  }
  ~Child() { End(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const { return pid_; }

  // Kills and reaps.
  void End() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  pid_t pid_;
};

// Some sandboxes refuse ptrace access even to one's own child.
bool Refused(const Result<UniqueFd>& taken) {
  return !taken && taken.error().code == ErrorCode::kDenied;
}

TEST(OpenPidfdTest, GivesACloseOnExecDescriptor) {
  const auto pidfd = OpenPidfd(::getpid());

  ASSERT_TRUE(pidfd);
  EXPECT_NE(::fcntl(pidfd->get(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST(OpenPidfdTest, ADeadProcessIsNotFound) {
  Child child;
  const pid_t pid = child.pid();
  child.End();

  const auto pidfd = OpenPidfd(pid);

  ASSERT_FALSE(pidfd);
  EXPECT_EQ(pidfd.error().code, ErrorCode::kNotFound);
}

TEST(OpenPidfdTest, ANonPositivePidIsInvalid) {
  EXPECT_EQ(OpenPidfd(0).error().code, ErrorCode::kInvalid);
  EXPECT_EQ(OpenPidfd(-1).error().code, ErrorCode::kInvalid);
}

TEST(GetFdOfTest, GivesTheSameFile) {
  const UniqueFd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const Child child;
  const auto pidfd = OpenPidfd(child.pid());
  ASSERT_TRUE(pidfd);

  const auto taken = GetFdOf(pidfd->get(), null.get());
  if (Refused(taken)) GTEST_SKIP() << taken.error().message;

  ASSERT_TRUE(taken);
  struct stat want{};
  struct stat got{};
  ASSERT_EQ(::fstat(null.get(), &want), 0);
  ASSERT_EQ(::fstat(taken->get(), &got), 0);
  EXPECT_EQ(got.st_rdev, want.st_rdev);
  EXPECT_NE(::fcntl(taken->get(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST(GetFdOfTest, ADescriptorThatIsClosedThereIsNotFound) {
  const Child child;
  const auto pidfd = OpenPidfd(child.pid());
  ASSERT_TRUE(pidfd);

  const auto taken = GetFdOf(pidfd->get(), 999'999);
  if (Refused(taken)) GTEST_SKIP() << taken.error().message;

  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, ErrorCode::kNotFound);
}

TEST(GetFdOfTest, AnExitedProcessIsNotFound) {
  Child child;
  const auto pidfd = OpenPidfd(child.pid());
  ASSERT_TRUE(pidfd);
  child.End();

  const auto taken = GetFdOf(pidfd->get(), 0);

  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, ErrorCode::kNotFound);
}

TEST(SendSignalTest, ReachesTheProcess) {
  const Child child;
  const auto pidfd = OpenPidfd(child.pid());
  ASSERT_TRUE(pidfd);
  EXPECT_TRUE(SendSignal(pidfd->get(), 0));

  ASSERT_TRUE(SendSignal(pidfd->get(), SIGKILL));

  siginfo_t exit{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child.pid()), &exit, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(exit.si_status, SIGKILL);
}

TEST(SendSignalTest, AReapedProcessIsNotFoundEvenWhenItsPidIsUsedAgain) {
  Child child;
  const auto pidfd = OpenPidfd(child.pid());
  ASSERT_TRUE(pidfd);
  child.End();

  const auto sent = SendSignal(pidfd->get(), SIGKILL);

  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace rb
