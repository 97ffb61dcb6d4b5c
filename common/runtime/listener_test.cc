#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "common/runtime/tcp_listener.h"
#include "common/runtime/unix_listener.h"
#include "tests/support/temp_tree.h"

namespace rb {
namespace {

using test::TempTree;

// Connects; returns 0 or the errno value.
int TryConnect(const std::string& path, int type) {
  const UniqueFd fd(::socket(AF_UNIX, type | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0
             ? 0
             : errno;
}

mode_t ModeOf(const std::string& path) {
  struct stat status{};
  EXPECT_EQ(::stat(path.c_str(), &status), 0);
  return status.st_mode & 07777;
}

TEST(UnixListenerTest, AcceptsConnectionsOfItsType) {
  const TempTree tree;

  const auto stream = ListenUnixStream(tree.Path("stream"), 0600);
  const auto packets = ListenUnixSeqpacket(tree.Path("packets"), 0600);

  ASSERT_TRUE(stream && packets);
  EXPECT_EQ(TryConnect(tree.Path("stream"), SOCK_STREAM), 0);
  EXPECT_EQ(TryConnect(tree.Path("packets"), SOCK_SEQPACKET), 0);
  EXPECT_EQ(TryConnect(tree.Path("packets"), SOCK_STREAM), EPROTOTYPE);
}

TEST(UnixListenerTest, SetsTheModeWhateverTheUmask) {
  const TempTree tree;
  const mode_t old = ::umask(0077);
  const auto open = ListenUnixSeqpacket(tree.Path("open"), 0666);
  ::umask(0);
  const auto closed = ListenUnixStream(tree.Path("closed"), 0600);
  ::umask(old);

  ASSERT_TRUE(open && closed);
  EXPECT_EQ(ModeOf(tree.Path("open")), 0666U);
  EXPECT_EQ(ModeOf(tree.Path("closed")), 0600U);
}

TEST(UnixListenerTest, ReplacesASocketFileThatNobodyAnswersOn) {
  const TempTree tree;
  const std::string path = tree.Path("socket");
  // The listener is closed and leaves its file, as after a crash.
  ASSERT_TRUE(ListenUnixStream(path, 0600));
  ASSERT_TRUE(tree.Exists("socket"));

  const auto again = ListenUnixStream(path, 0600);

  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(TryConnect(path, SOCK_STREAM), 0);
}

TEST(UnixListenerTest, LeavesALivingSocketAloneAndNamesIt) {
  const TempTree tree;
  const std::string path = tree.Path("socket");
  const auto first = ListenUnixStream(path, 0600);
  ASSERT_TRUE(first);

  const auto same_type = ListenUnixStream(path, 0600);
  const auto other_type = ListenUnixSeqpacket(path, 0600);

  ASSERT_FALSE(same_type);
  EXPECT_EQ(same_type.error().code, ErrorCode::kConflict);
  EXPECT_EQ(same_type.error().message, "listen on " + path + ": address already in use");
  ASSERT_FALSE(other_type);
  EXPECT_EQ(other_type.error().code, ErrorCode::kConflict);
  EXPECT_EQ(TryConnect(path, SOCK_STREAM), 0);
}

TEST(UnixListenerTest, NeverRemovesAFileThatIsNoSocket) {
  const TempTree tree{{"precious", "data"}};
  ASSERT_EQ(::symlink(tree.Path("precious").c_str(), tree.Path("link").c_str()), 0);

  EXPECT_EQ(ListenUnixStream(tree.Path("precious"), 0600).error().code, ErrorCode::kConflict);
  EXPECT_EQ(ListenUnixStream(tree.Path("link"), 0600).error().code, ErrorCode::kConflict);

  EXPECT_EQ(tree.Read("precious"), "data");
}

TEST(UnixListenerTest, RefusesPathsThatDoNotFit) {
  const TempTree tree;

  EXPECT_EQ(ListenUnixStream("", 0600).error().code, ErrorCode::kInvalid);
  EXPECT_EQ(ListenUnixStream("/tmp/" + std::string(103, 'x'), 0600).error().code,
            ErrorCode::kInvalid);
  EXPECT_EQ(ListenUnixStream(tree.Path("gone/socket"), 0600).error().code, ErrorCode::kNotFound);
}

TEST(TcpListenerTest, ListensOnAFreePortOfEitherFamily) {
  for (const auto* address : {"127.0.0.1", "::1"}) {
    const auto listener = ListenTcp(address, 0);
    if (!listener && listener.error().code == ErrorCode::kInternal) continue;  // no IPv6 here
    ASSERT_TRUE(listener) << listener.error().message;

    const auto port = BoundPort(listener->get());

    ASSERT_TRUE(port);
    EXPECT_GT(*port, 0);
  }
}

TEST(TcpListenerTest, ATakenPortIsAConflictThatNamesIt) {
  const auto first = ListenTcp("127.0.0.1", 0);
  ASSERT_TRUE(first);
  const std::uint16_t port = *BoundPort(first->get());

  const auto second = ListenTcp("127.0.0.1", port);

  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kConflict);
  EXPECT_EQ(second.error().message,
            "listen on 127.0.0.1 port " + std::to_string(port) + ": address already in use");
}

TEST(TcpListenerTest, RefusesNames) {
  EXPECT_EQ(ListenTcp("localhost", 0).error().code, ErrorCode::kInvalid);
  EXPECT_EQ(ListenTcp("", 0).error().code, ErrorCode::kInvalid);
}

TEST(BoundPortTest, AUnixSocketHasNone) {
  const TempTree tree;
  const auto listener = ListenUnixStream(tree.Path("socket"), 0600);
  ASSERT_TRUE(listener);

  EXPECT_EQ(BoundPort(listener->get()).error().code, ErrorCode::kInvalid);
}

}  // namespace
}  // namespace rb
