#include "common/runtime/fd_watch.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <functional>
#include <memory>

#include "common/bare/fd_message.h"
#include "common/runtime/process.h"
#include "tests/support/run_task.h"

namespace rb {
namespace {

struct SocketPair {
  SocketPair() {
    std::array<int, 2> fds{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds.data()),
              0);
    a.Reset(fds[0]);
    b.Reset(fds[1]);
  }
  UniqueFd a;
  UniqueFd b;
};

void Send(const UniqueFd& socket) {
  ASSERT_EQ(SendMessage(socket.get(), "x", 1, nullptr, 0, 0), 0);
}

// Runs `fn` once a task that is started right after this call waits.
void OnceWaiting(Loop& loop, const std::function<void()>& fn) {
  loop.Post([&loop, fn] { loop.Post(fn); });
}

TEST(FdWatchTest, ReadableWaitsForAMessage) {
  Loop loop;
  const SocketPair pair;
  FdWatch watch(loop, pair.b.get());
  OnceWaiting(loop, [&] { Send(pair.a); });

  EXPECT_TRUE(test::RunTask(loop, watch.Readable()));

  char byte = 0;
  ReceivedMessage message;
  EXPECT_EQ(ReceiveMessage(pair.b.get(), &byte, 1, &message, MSG_DONTWAIT), 0);
}

TEST(FdWatchTest, ReadableReturnsAtOnceWhenAMessageWaits) {
  Loop loop;
  const SocketPair pair;
  FdWatch watch(loop, pair.b.get());
  Send(pair.a);

  // Twice: the readiness is a level, not an edge.
  EXPECT_TRUE(test::RunTask(loop, watch.Readable()));
  EXPECT_TRUE(test::RunTask(loop, watch.Readable()));
}

TEST(FdWatchTest, AClosedPeerIsReadable) {
  Loop loop;
  SocketPair pair;
  FdWatch watch(loop, pair.b.get());
  pair.a.Reset();

  EXPECT_TRUE(test::RunTask(loop, watch.Readable()));
}

TEST(FdWatchTest, WritableWaitsForRoom) {
  Loop loop;
  const SocketPair pair;
  FdWatch watch(loop, pair.a.get());
  while (SendMessage(pair.a.get(), "x", 1, nullptr, 0, MSG_DONTWAIT) == 0) {
  }
  bool drained = false;
  OnceWaiting(loop, [&] {
    drained = true;
    char byte = 0;
    ReceivedMessage message;
    while (ReceiveMessage(pair.b.get(), &byte, 1, &message, MSG_DONTWAIT) == 0) {
    }
  });

  EXPECT_TRUE(test::RunTask(loop, watch.Writable()));

  EXPECT_TRUE(drained);
}

TEST(FdWatchTest, CancelEndsTheWait) {
  Loop loop;
  const SocketPair pair;
  FdWatch watch(loop, pair.b.get());
  OnceWaiting(loop, [&] { watch.Cancel(); });

  const Result<void> ready = test::RunTask(loop, watch.Readable());

  ASSERT_FALSE(ready);
  EXPECT_EQ(ready.error().reason, "cancelled");
}

TEST(FdWatchTest, CancelWithoutAWaitDoesNothing) {
  Loop loop;
  const SocketPair pair;
  FdWatch watch(loop, pair.b.get());
  Send(pair.a);

  watch.Cancel();

  EXPECT_TRUE(test::RunTask(loop, watch.Readable()));
}

TEST(FdWatchTest, DestroyingItEndsTheWaitAndLeavesTheDescriptorOpen) {
  Loop loop;
  const SocketPair pair;
  auto watch = std::make_unique<FdWatch>(loop, pair.b.get());
  OnceWaiting(loop, [&] { watch.reset(); });

  const Result<void> ready = test::RunTask(loop, watch->Readable());

  EXPECT_FALSE(ready);
  EXPECT_GE(::fcntl(pair.b.get(), F_GETFD), 0);
}

TEST(FdWatchTest, ADescriptorCanBeWatchedAgainAfterItsWatch) {
  Loop loop;
  const SocketPair pair;
  {
    const FdWatch first(loop, pair.b.get());
  }
  FdWatch second(loop, pair.b.get());
  Send(pair.a);

  EXPECT_TRUE(test::RunTask(loop, second.Readable()));
}

TEST(FdWatchTest, ARegularFileIsUnsupported) {
  Loop loop;
  const UniqueFd file(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  FdWatch watch(loop, file.get());

  const Result<void> ready = test::RunTask(loop, watch.Readable());

  ASSERT_FALSE(ready);
  EXPECT_EQ(ready.error().code, ErrorCode::kUnsupported);
}

TEST(FdWatchTest, ABadDescriptorIsAnError) {
  Loop loop;
  FdWatch watch(loop, 1'000'000);

  EXPECT_FALSE(test::RunTask(loop, watch.Readable()));
}

TEST(FdWatchTest, APidfdIsReadableWhenTheProcessExits) {
  Loop loop;
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  const auto pidfd = OpenPidfd(child);
  ASSERT_TRUE(pidfd);
  FdWatch watch(loop, pidfd->get());
  OnceWaiting(loop, [&] { EXPECT_TRUE(SendSignal(pidfd->get(), SIGKILL)); });

  EXPECT_TRUE(test::RunTask(loop, watch.Readable()));

  EXPECT_EQ(::waitpid(child, nullptr, WNOHANG), child);
}

}  // namespace
}  // namespace rb
