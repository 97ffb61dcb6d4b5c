// The shared object inside a process: this program starts itself again with librdma-shim.so
// preloaded, and is agent and application in one. Its uverbs files are /dev/null, so what the
// kernel answers to a verbs ioctl is ENOTTY: the bookkeeping is what is tested here, real verbs are
// the lab's.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/integration/shim/fake_agent.h"

namespace rb::testing {
namespace {

constexpr const char* kLeased = "/dev/infiniband/uverbs41";
constexpr const char* kOther = "/dev/infiniband/uverbs42";
constexpr unsigned kMajor = 231;
constexpr unsigned kMinor = 233;
constexpr const char* kSocketVariable = "RDMA_AGENT_SOCKET";

class PreloadedTest : public ::testing::Test {
 protected:
  PreloadedTest() { StartAgent(); }

  void StartAgent() {
    agent_ = std::make_unique<FakeAgent>(std::getenv(kSocketVariable));
    agent_->AddDevice({.name = "rxe41",
                       .node = "uverbs41",
                       .file = "/dev/null",
                       .major = kMajor,
                       .minor = kMinor});
    agent_->Start();
  }

  // The slot of the n-th open of this agent, from 0.
  wire::CounterSlot& Slot(std::size_t n) { return agent_->counters().slots.at(n); }
  std::uint32_t Holders(std::size_t n) { return wire::Load(Slot(n).holders); }
  bool IsClosed(std::size_t n) {
    return wire::LoadAcquire(Slot(n).state) == static_cast<std::uint32_t>(wire::SlotState::kClosed);
  }

  std::unique_ptr<FakeAgent> agent_;
};

int Open(const char* path, int flags = O_RDWR | O_CLOEXEC) { return ::open(path, flags); }

int ExitCodeOf(pid_t child) {
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(PreloadedTest, ALeasedDeviceExistsForEveryCall) {
  struct stat status{};
  struct statx extended{};

  EXPECT_EQ(::stat(kLeased, &status), 0);
  EXPECT_TRUE(S_ISCHR(status.st_mode));
  EXPECT_EQ(status.st_rdev, makedev(kMajor, kMinor));
  EXPECT_EQ(::lstat(kLeased, &status), 0);
  EXPECT_EQ(::fstatat(AT_FDCWD, kLeased, &status, 0), 0);
  EXPECT_EQ(::statx(AT_FDCWD, kLeased, 0, STATX_BASIC_STATS, &extended), 0);
  EXPECT_EQ(extended.stx_rdev_minor, kMinor);
  EXPECT_EQ(::access(kLeased, R_OK | W_OK), 0);
  EXPECT_EQ(::faccessat(AT_FDCWD, kLeased, R_OK, 0), 0);
  EXPECT_EQ(::euidaccess(kLeased, W_OK), 0);
  EXPECT_EQ(agent_->hellos(), 1U);  // asked once
}

TEST_F(PreloadedTest, AnyOtherDeviceDoesNot) {
  struct stat status{};
  struct statx extended{};

  EXPECT_EQ(::stat(kOther, &status), -1);
  EXPECT_EQ(errno, ENOENT);
  EXPECT_EQ(::lstat(kOther, &status), -1);
  EXPECT_EQ(::statx(AT_FDCWD, kOther, 0, 0, &extended), -1);
  EXPECT_EQ(::access(kOther, F_OK), -1);
  EXPECT_EQ(Open(kOther), -1);
  EXPECT_EQ(errno, ENOENT);
  EXPECT_EQ(::openat(AT_FDCWD, kOther, O_RDWR), -1);
  EXPECT_EQ(agent_->opens(), 0U);
}

TEST_F(PreloadedTest, ADeviceIsNoDirectoryAndNoProgram) {
  EXPECT_EQ(Open(kLeased, O_RDONLY | O_DIRECTORY), -1);
  EXPECT_EQ(errno, ENOTDIR);
  EXPECT_EQ(::access(kLeased, X_OK), -1);
  EXPECT_EQ(errno, EACCES);
}

TEST_F(PreloadedTest, CloseOnExecIsWhatTheCallerAsked) {
  const int closed = Open(kLeased, O_RDWR | O_CLOEXEC);
  const int kept = Open(kLeased, O_RDWR);

  EXPECT_EQ(::fcntl(closed, F_GETFD), FD_CLOEXEC);
  EXPECT_EQ(::fcntl(kept, F_GETFD), 0);
  ::close(closed);
  ::close(kept);
}

TEST_F(PreloadedTest, TheLastCloseGivesEverythingBack) {
  const int fd = Open(kLeased);
  Slot(0).used[Index(wire::Limit::kPds)] = 3;
  agent_->counters().used[Index(wire::Limit::kPds)] = 5;
  const int second = ::dup(fd);

  EXPECT_EQ(::close(fd), 0);
  EXPECT_FALSE(IsClosed(0));
  EXPECT_EQ(::close(second), 0);

  EXPECT_TRUE(IsClosed(0));
  EXPECT_EQ(agent_->counters().used[Index(wire::Limit::kPds)], 2U);
}

TEST_F(PreloadedTest, EveryWayToDuplicateIsSeen) {
  const int fd = Open(kLeased);
  std::vector<int> copies{::dup(fd), ::fcntl(fd, F_DUPFD, 100), ::fcntl(fd, F_DUPFD_CLOEXEC, 100),
                          ::dup2(fd, 200), ::dup3(fd, 201, O_CLOEXEC)};
  ::close(fd);
  for (const int copy : copies) {
    EXPECT_FALSE(IsClosed(0)) << copy;
    EXPECT_EQ(::close(copy), 0);
  }

  EXPECT_TRUE(IsClosed(0));
}

TEST_F(PreloadedTest, Dup2OverADeviceClosesIt) {
  const int fd = Open(kLeased);
  const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);

  EXPECT_EQ(::dup2(null, fd), fd);

  EXPECT_TRUE(IsClosed(0));
  EXPECT_EQ(::close(fd), 0);
  ::close(null);
}

TEST_F(PreloadedTest, Dup2OntoItselfChangesNothing) {
  const int fd = Open(kLeased);

  EXPECT_EQ(::dup2(fd, fd), fd);

  EXPECT_FALSE(IsClosed(0));
  ::close(fd);
  EXPECT_TRUE(IsClosed(0));
}

TEST_F(PreloadedTest, CloseRangeClosesOursToo) {
  const int fd = Open(kLeased);
  const int high = ::fcntl(fd, F_DUPFD, 500);
  ::close(fd);

  if (::close_range(500, ~0U, 0) != 0) GTEST_SKIP() << "no close_range here";

  EXPECT_TRUE(IsClosed(0));
  EXPECT_EQ(::fcntl(high, F_GETFD), -1);
}

TEST_F(PreloadedTest, CloseRangeThatOnlyMarksClosesNothing) {
  const int fd = Open(kLeased, O_RDWR);

  ASSERT_EQ(
      ::close_range(static_cast<unsigned>(fd), static_cast<unsigned>(fd), CLOSE_RANGE_CLOEXEC), 0);

  EXPECT_FALSE(IsClosed(0));
  EXPECT_EQ(::fcntl(fd, F_GETFD), FD_CLOEXEC);
  ::close(fd);
}

TEST_F(PreloadedTest, AForkedChildHoldsTheFileUntilBothHaveClosed) {
  const int fd = Open(kLeased);
  int gate[2];  // NOLINT(modernize-avoid-c-arrays)
  ASSERT_EQ(::pipe(gate), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    char byte = 0;
    ::close(gate[1]);
    ::read(gate[0], &byte, 1);  // until the parent has closed its copy
    ::_exit(::close(fd) == 0 ? 0 : 1);
  }
  ::close(gate[0]);

  EXPECT_EQ(Holders(0), 2U);
  EXPECT_EQ(::close(fd), 0);
  EXPECT_FALSE(IsClosed(0));
  ::close(gate[1]);
  EXPECT_EQ(ExitCodeOf(child), 0);

  EXPECT_TRUE(IsClosed(0));
}

TEST_F(PreloadedTest, AForkedChildAsksTheAgentOnItsOwnConnection) {
  const int fd = Open(kLeased);
  const pid_t child = ::fork();
  if (child == 0) ::_exit(Open(kLeased) >= 0 ? 0 : 1);

  EXPECT_EQ(ExitCodeOf(child), 0);
  EXPECT_EQ(agent_->hellos(), 2U);
  const int again = Open(kLeased);  // the parent's connection still works
  EXPECT_GE(again, 0);
  EXPECT_EQ(agent_->hellos(), 2U);
  ::close(fd);
  ::close(again);
}

TEST_F(PreloadedTest, AProgramThatEndsWithoutClosingGivesItsUnitsBack) {
  const pid_t child = ::fork();
  if (child == 0) {
    const bool opened = Open(kLeased) >= 0;
    agent_->counters().used[Index(wire::Limit::kQps)] = 2;
    Slot(0).used[Index(wire::Limit::kQps)] = 2;
    ::exit(opened ? 0 : 1);  // NOLINT(concurrency-mt-unsafe)
  }

  EXPECT_EQ(ExitCodeOf(child), 0);

  EXPECT_TRUE(IsClosed(0));
  EXPECT_EQ(agent_->counters().used[Index(wire::Limit::kQps)], 0U);
}

// posix_spawn and Python's subprocess close descriptors in a child that shares our memory.
TEST_F(PreloadedTest, WhatAVforkChildClosesTheParentKeeps) {
  const int fd = Open(kLeased);
  const pid_t child = ::vfork();  // NOLINT: that is what is tested
  if (child == 0) {
    ::close(fd);
    ::_exit(0);
  }
  EXPECT_EQ(ExitCodeOf(child), 0);

  EXPECT_FALSE(IsClosed(0));
  EXPECT_EQ(Holders(0), 1U);
  ::close(fd);
  EXPECT_TRUE(IsClosed(0));
}

TEST_F(PreloadedTest, WithoutAnAgentThereIsNoDevice) {
  agent_.reset();
  struct stat status{};

  EXPECT_EQ(::stat(kLeased, &status), -1);
  EXPECT_EQ(errno, ENOENT);
  EXPECT_EQ(Open(kLeased), -1);
  EXPECT_EQ(errno, ENOENT);
}

TEST_F(PreloadedTest, WithoutALeaseThereIsNoDevice) {
  agent_->RefuseHello(EACCES);
  struct stat status{};

  EXPECT_EQ(::stat(kLeased, &status), -1);
  EXPECT_EQ(errno, ENOENT);
  agent_->RefuseHello(0);
  EXPECT_EQ(::stat(kLeased, &status), 0);  // a lease may come later
}

TEST_F(PreloadedTest, TheAgentsErrnoReachesTheCaller) {
  agent_->RefuseOpen(ENOMEM);

  EXPECT_EQ(Open(kLeased), -1);

  EXPECT_EQ(errno, ENOMEM);
}

TEST_F(PreloadedTest, ASilentAgentIsATimeOutAndOnlyOnce) {
  using Clock = std::chrono::steady_clock;
  agent_->BeSilent(true);
  struct stat status{};
  const auto start = Clock::now();

  EXPECT_EQ(Open(kLeased), -1);
  EXPECT_EQ(errno, ETIMEDOUT);
  const auto first = Clock::now();
  for (int i = 0; i < 100; ++i) EXPECT_EQ(::stat(kLeased, &status), -1);  // as libibverbs asks

  EXPECT_GE(first - start, std::chrono::milliseconds(wire::kCallTimeoutMs));
  EXPECT_LT(Clock::now() - first, std::chrono::milliseconds(wire::kCallTimeoutMs));
}

TEST_F(PreloadedTest, ARestartedAgentIsFoundAgain) {
  const int fd = Open(kLeased);
  agent_.reset();
  struct stat status{};
  EXPECT_EQ(::stat(kLeased, &status), 0);  // the lease holds while the agent is away
  EXPECT_EQ(Open(kLeased), -1);

  StartAgent();

  const int second = Open(kLeased);
  EXPECT_GE(second, 0);
  EXPECT_EQ(Holders(0), 1U);
  ::close(second);
  EXPECT_TRUE(IsClosed(0));
  ::close(fd);  // of the old pages
}

TEST_F(PreloadedTest, AfterARevokeANewLeaseIsTaken) {
  const int old_file = Open(kLeased);
  agent_->Patch([](wire::PolicyPage* page) {
    page->state = static_cast<std::uint32_t>(wire::PolicyState::kRevoked);
  });
  agent_->ReplacePages();

  const int fd = Open(kLeased);

  EXPECT_GE(fd, 0);
  EXPECT_EQ(Holders(1), 1U);
  ::close(old_file);  // gives back to the page it came from
  EXPECT_FALSE(IsClosed(1));
  ::close(fd);
  EXPECT_TRUE(IsClosed(1));
}

TEST_F(PreloadedTest, AWriteThatIsNoCommandIsAWrite) {
  const int fd = Open(kLeased);

  EXPECT_EQ(::write(fd, "abc", 3), 3);  // /dev/null takes it

  ::close(fd);
}

// The number of a file that was closed behind the hooks' back may be anything now.
TEST_F(PreloadedTest, ANumberTakenOverByAnotherFileIsNoDeviceAnyMore) {
  const int fd = Open(kLeased);
  const std::uint32_t command[3] = {IB_USER_VERBS_CMD_DEALLOC_PD, 3, 0};  // NOLINT

  EXPECT_EQ(::write(fd, command, sizeof(command)), static_cast<ssize_t>(sizeof(command)));

  EXPECT_TRUE(IsClosed(0));
  EXPECT_EQ(::close(fd), 0);
}

TEST_F(PreloadedTest, AVerbsCallThatTheKernelRefusesIsNotCharged) {
  const int fd = Open(kLeased);
  ib_uverbs_ioctl_hdr call{};
  call.length = sizeof(call);
  call.object_id = UVERBS_OBJECT_DEVICE;
  call.method_id = UVERBS_METHOD_GET_CONTEXT;

  EXPECT_EQ(::ioctl(fd, RDMA_VERBS_IOCTL, &call), -1);

  EXPECT_EQ(errno, ENOTTY);
  EXPECT_EQ(agent_->counters().used[Index(wire::Limit::kContexts)], 0U);
  ::close(fd);
}

TEST_F(PreloadedTest, SuccessLeavesErrnoAlone) {
  struct stat status{};
  errno = 77;

  ASSERT_EQ(::stat(kLeased, &status), 0);
  const int fd = Open(kLeased);
  ASSERT_GE(fd, 0);
  ASSERT_EQ(::close(fd), 0);

  EXPECT_EQ(errno, 77);
}

TEST_F(PreloadedTest, ThreadsOpenDuplicateAndCloseAtOnce) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < 100; ++i) {
        const int fd = Open(kLeased);
        const int copy = ::dup(fd);
        EXPECT_GE(fd, 0);
        EXPECT_EQ(::close(fd), 0);
        EXPECT_EQ(::close(copy), 0);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();

  for (std::size_t i = 0; i < 400; ++i) EXPECT_TRUE(IsClosed(i)) << i;
}

TEST_F(PreloadedTest, OtherFilesAreUntouched) {
  struct stat status{};

  EXPECT_EQ(::stat("/dev/null", &status), 0);
  EXPECT_EQ(::access("/dev/infiniband-not-there", F_OK), -1);
  const int fd = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  EXPECT_EQ(::write(fd, "x", 1), 1);
  EXPECT_EQ(::close(fd), 0);
  EXPECT_EQ(::close(fd), -1);
  EXPECT_EQ(errno, EBADF);
  EXPECT_EQ(agent_->hellos(), 0U);
}

}  // namespace
}  // namespace rb::testing

namespace {

// Starts this program again with the shim preloaded and an agent's place of its own.
int RunPreloaded(std::vector<char*> arguments) {
  std::string folder = std::filesystem::temp_directory_path() / "rb-preloaded-XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) return 1;
  arguments.push_back(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    ::setenv(rb::testing::kSocketVariable, (folder + "/agent.sock").c_str(), 1);
    ::setenv("LD_PRELOAD", RB_SHIM_PATH, 1);
    ::execv("/proc/self/exe", arguments.data());
    ::_exit(127);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  std::filesystem::remove_all(folder);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

// The shim keeps its lease for the life of the process, so each test gets a process.
int RunEachAlone(char* program) {
  int result = 0;
  const auto& unit = *::testing::UnitTest::GetInstance();
  for (int i = 0; i < unit.total_test_suite_count(); ++i) {
    const auto& suite = *unit.GetTestSuite(i);
    for (int j = 0; j < suite.total_test_count(); ++j) {
      std::string filter =
          std::string("--gtest_filter=") + suite.name() + "." + suite.GetTestInfo(j)->name();
      if (RunPreloaded({program, filter.data()}) != 0) result = 1;
    }
  }
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  if (std::getenv(rb::testing::kSocketVariable) == nullptr) {
    if (argc > 1) return RunPreloaded({argv, argv + argc});
    ::testing::InitGoogleTest(&argc, argv);
    return RunEachAlone(argv[0]);
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
