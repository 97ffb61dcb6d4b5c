#include "common/bare/fd_message.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

namespace rb {
namespace {

struct SocketPair {
  SocketPair() {
    std::array<int, 2> fds{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds.data()), 0);
    a.Reset(fds[0]);
    b.Reset(fds[1]);
  }
  UniqueFd a;
  UniqueFd b;
};

std::ptrdiff_t OpenFds() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return std::distance(begin(all), end(all));
}

UniqueFd OpenNull() { return UniqueFd(::open("/dev/null", O_RDONLY)); }

// Sends like a hostile peer: more descriptors than SendMessage() allows.
void SendRawFds(int socket, const std::vector<int>& fds) {
  std::string control(CMSG_SPACE(sizeof(int) * fds.size()), '\0');
  char byte = 'x';
  iovec part{.iov_base = &byte, .iov_len = 1};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control.data();
  header.msg_controllen = control.size();
  cmsghdr* rights = CMSG_FIRSTHDR(&header);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof(int) * fds.size());
  std::memcpy(CMSG_DATA(rights), fds.data(), sizeof(int) * fds.size());
  ASSERT_EQ(::sendmsg(socket, &header, 0), 1);
}

TEST(FdMessageTest, BytesArriveAsOneMessage) {
  const SocketPair pair;
  std::array<char, 16> buffer{};
  ReceivedMessage message;

  ASSERT_EQ(SendMessage(pair.a.get(), "hello", 5, nullptr, 0, 0), 0);
  ASSERT_EQ(SendMessage(pair.a.get(), "you", 3, nullptr, 0, 0), 0);

  ASSERT_EQ(ReceiveMessage(pair.b.get(), buffer.data(), buffer.size(), &message, 0), 0);
  EXPECT_EQ(std::string(buffer.data(), message.bytes), "hello");
  EXPECT_EQ(message.fd_count, 0U);
}

TEST(FdMessageTest, ReceivedDescriptorsAreTheSameFileAndCloseOnExec) {
  const SocketPair pair;
  const UniqueFd sent = OpenNull();
  const int borrowed = sent.get();
  char byte = 0;
  ReceivedMessage message;

  ASSERT_EQ(SendMessage(pair.a.get(), "x", 1, &borrowed, 1, 0), 0);
  ASSERT_EQ(ReceiveMessage(pair.b.get(), &byte, 1, &message, 0), 0);

  ASSERT_EQ(message.fd_count, 1U);
  struct stat want{};
  struct stat got{};
  ASSERT_EQ(::fstat(sent.get(), &want), 0);
  ASSERT_EQ(::fstat(message.fds[0].get(), &got), 0);
  EXPECT_EQ(got.st_rdev, want.st_rdev);
  EXPECT_NE(::fcntl(message.fds[0].get(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST(FdMessageTest, CarriesTheMostDescriptorsAllowed) {
  const SocketPair pair;
  const UniqueFd file = OpenNull();
  std::array<int, kMessageFdsMax> fds{};
  fds.fill(file.get());
  char byte = 0;
  ReceivedMessage message;

  ASSERT_EQ(SendMessage(pair.a.get(), "x", 1, fds.data(), fds.size(), 0), 0);
  ASSERT_EQ(ReceiveMessage(pair.b.get(), &byte, 1, &message, 0), 0);

  EXPECT_EQ(message.fd_count, kMessageFdsMax);
}

TEST(FdMessageTest, RefusesToSendOneDescriptorTooMany) {
  const SocketPair pair;
  const UniqueFd file = OpenNull();
  std::array<int, kMessageFdsMax + 1> fds{};
  fds.fill(file.get());

  EXPECT_EQ(SendMessage(pair.a.get(), "x", 1, fds.data(), fds.size(), 0), EINVAL);
}

TEST(FdMessageTest, RefusesOneDescriptorTooManyAndClosesAll) {
  const SocketPair pair;
  const UniqueFd file = OpenNull();
  SendRawFds(pair.a.get(), std::vector<int>(kMessageFdsMax + 1, file.get()));
  const std::ptrdiff_t before = OpenFds();
  char byte = 0;
  ReceivedMessage message;

  EXPECT_EQ(ReceiveMessage(pair.b.get(), &byte, 1, &message, 0), EMSGSIZE);

  EXPECT_EQ(message.fd_count, 0U);
  EXPECT_EQ(OpenFds(), before);
}

TEST(FdMessageTest, RefusesManyDescriptorsAndClosesAll) {
  const SocketPair pair;
  const UniqueFd file = OpenNull();
  SendRawFds(pair.a.get(), std::vector<int>(200, file.get()));
  const std::ptrdiff_t before = OpenFds();
  char byte = 0;
  ReceivedMessage message;

  EXPECT_EQ(ReceiveMessage(pair.b.get(), &byte, 1, &message, 0), EMSGSIZE);

  EXPECT_EQ(OpenFds(), before);
}

TEST(FdMessageTest, RefusesAMessageLargerThanTheBufferAndClosesItsDescriptor) {
  const SocketPair pair;
  const UniqueFd file = OpenNull();
  const int borrowed = file.get();
  ASSERT_EQ(SendMessage(pair.a.get(), "hello", 5, &borrowed, 1, 0), 0);
  const std::ptrdiff_t before = OpenFds();
  std::array<char, 4> buffer{};
  ReceivedMessage message;

  EXPECT_EQ(ReceiveMessage(pair.b.get(), buffer.data(), buffer.size(), &message, 0), EMSGSIZE);

  EXPECT_EQ(OpenFds(), before);
}

TEST(FdMessageTest, AcceptsAMessageThatFillsTheBuffer) {
  const SocketPair pair;
  std::array<char, 5> buffer{};
  ReceivedMessage message;

  ASSERT_EQ(SendMessage(pair.a.get(), "hello", 5, nullptr, 0, 0), 0);

  ASSERT_EQ(ReceiveMessage(pair.b.get(), buffer.data(), buffer.size(), &message, 0), 0);
  EXPECT_EQ(message.bytes, 5U);
}

TEST(FdMessageTest, ReusingTheMessageClosesEarlierDescriptors) {
  const SocketPair pair;
  const UniqueFd file = OpenNull();
  const int borrowed = file.get();
  char byte = 0;
  ReceivedMessage message;
  ASSERT_EQ(SendMessage(pair.a.get(), "x", 1, &borrowed, 1, 0), 0);
  ASSERT_EQ(SendMessage(pair.a.get(), "y", 1, nullptr, 0, 0), 0);
  ASSERT_EQ(ReceiveMessage(pair.b.get(), &byte, 1, &message, 0), 0);
  const std::ptrdiff_t before = OpenFds();

  ASSERT_EQ(ReceiveMessage(pair.b.get(), &byte, 1, &message, 0), 0);

  EXPECT_EQ(message.fd_count, 0U);
  EXPECT_EQ(OpenFds(), before - 1);
}

TEST(FdMessageTest, AClosedPeerReadsAsZeroBytes) {
  SocketPair pair;
  pair.a.Reset();
  char byte = 0;
  ReceivedMessage message;

  ASSERT_EQ(ReceiveMessage(pair.b.get(), &byte, 1, &message, 0), 0);

  EXPECT_EQ(message.bytes, 0U);
}

TEST(FdMessageTest, SendingToAClosedPeerIsAnErrorAndNoSignal) {
  SocketPair pair;
  pair.b.Reset();

  EXPECT_EQ(SendMessage(pair.a.get(), "x", 1, nullptr, 0, 0), EPIPE);
}

TEST(FdMessageTest, NothingThereIsEagainWithoutWaiting) {
  const SocketPair pair;
  char byte = 0;
  ReceivedMessage message;

  EXPECT_EQ(ReceiveMessage(pair.b.get(), &byte, 1, &message, MSG_DONTWAIT), EAGAIN);
}

}  // namespace
}  // namespace rb
