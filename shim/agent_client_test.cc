#include "shim/agent_client.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>

#include "api/wire/text.h"
#include "shim/clock.h"

namespace rb::shim {
namespace {

// An agent of one conversation: listens, accepts once and does what the test says.
class OneAgent {
 public:
  explicit OneAgent(std::function<void(int)> conversation) {
    std::string pattern = "/tmp/rb-shim-XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
    path_ = folder_ + "/agent.sock";
    listener_ = UniqueFd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path_.c_str(), sizeof(address.sun_path) - 1);
    EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(::listen(listener_.get(), 4), 0);
    thread_ = std::thread([this, talk = std::move(conversation)] {
      UniqueFd peer(::accept(listener_.get(), nullptr, nullptr));
      talk(peer.get());
    });
  }
  ~OneAgent() {
    thread_.join();
    std::filesystem::remove_all(folder_);
  }

  const char* path() const { return path_.c_str(); }

 private:
  std::string folder_;
  std::string path_;
  UniqueFd listener_;
  std::thread thread_;
};

template <typename T>
T ReceiveFrame(int peer) {
  T frame{};
  ReceivedMessage message;
  EXPECT_EQ(ReceiveMessage(peer, &frame, sizeof(frame), &message, 0), 0);
  EXPECT_EQ(message.bytes, sizeof(T));
  return frame;
}

void SendGrant(int peer, std::uint32_t sequence, std::size_t fd_count = 2) {
  auto grant = wire::MakeFrame<wire::GrantReply>(wire::FrameType::kGrant, sequence);
  wire::SetText(&grant.lease_id, "lease-1");
  grant.device_count = 1;
  wire::SetText(&grant.devices[0].name, "rxe0");
  const int fds[] = {0, 0, 0};  // NOLINT(modernize-avoid-c-arrays)
  EXPECT_EQ(SendMessage(peer, &grant, sizeof(grant), fds, fd_count, 0), 0);
}

void SendError(int peer, std::uint32_t sequence, std::uint32_t errno_value) {
  auto error = wire::MakeFrame<wire::ErrorReply>(wire::FrameType::kError, sequence);
  error.errno_value = errno_value;
  wire::SetText(&error.reason, "limit_contexts");
  EXPECT_EQ(SendMessage(peer, &error, sizeof(error), nullptr, 0, 0), 0);
}

class AgentClientTest : public ::testing::Test {
 protected:
  ~AgentClientTest() override { client_.Drop(); }

  int Hello(const OneAgent& agent) {
    return client_.Hello(agent.path(), "token", &grant_, &policy_, &counters_);
  }

  AgentClient client_;
  wire::GrantReply grant_{};
  UniqueFd policy_;
  UniqueFd counters_;
};

TEST_F(AgentClientTest, BringsTheGrantAndItsPages) {
  OneAgent agent([](int peer) {
    const auto hello = ReceiveFrame<wire::HelloRequest>(peer);
    EXPECT_STREQ(hello.token.data(), "token");
    SendGrant(peer, hello.header.sequence);
  });

  ASSERT_EQ(Hello(agent), 0);

  EXPECT_STREQ(grant_.devices[0].name.data(), "rxe0");
  EXPECT_TRUE(policy_);
  EXPECT_TRUE(counters_);
}

TEST_F(AgentClientTest, OpensOnTheSameConnection) {
  OneAgent agent([](int peer) {
    SendGrant(peer, ReceiveFrame<wire::HelloRequest>(peer).header.sequence);
    const auto open = ReceiveFrame<wire::OpenRequest>(peer);
    EXPECT_STREQ(open.device.data(), "rxe0");
    auto reply = wire::MakeFrame<wire::OpenReply>(wire::FrameType::kOpened, open.header.sequence);
    reply.slot = wire::kSlotsMax - 1;
    reply.driver_id = 14;
    const int fd = 0;
    EXPECT_EQ(SendMessage(peer, &reply, sizeof(reply), &fd, 1, 0), 0);
  });
  ASSERT_EQ(Hello(agent), 0);
  wire::OpenReply reply{};
  UniqueFd file;

  ASSERT_EQ(client_.Open("rxe0", &reply, &file), 0);

  EXPECT_EQ(reply.slot, wire::kSlotsMax - 1);
  EXPECT_TRUE(file);
}

TEST_F(AgentClientTest, ASlotBeyondThePageIsNonsense) {
  OneAgent agent([](int peer) {
    SendGrant(peer, ReceiveFrame<wire::HelloRequest>(peer).header.sequence);
    const auto open = ReceiveFrame<wire::OpenRequest>(peer);
    auto reply = wire::MakeFrame<wire::OpenReply>(wire::FrameType::kOpened, open.header.sequence);
    reply.slot = wire::kSlotsMax;
    const int fd = 0;
    SendMessage(peer, &reply, sizeof(reply), &fd, 1, 0);
  });
  ASSERT_EQ(Hello(agent), 0);
  wire::OpenReply reply{};
  UniqueFd file;

  EXPECT_EQ(client_.Open("rxe0", &reply, &file), EPROTO);

  EXPECT_FALSE(client_.connected());
}

TEST_F(AgentClientTest, ARefusalKeepsTheConnectionAndItsReason) {
  OneAgent agent([](int peer) {
    SendError(peer, ReceiveFrame<wire::HelloRequest>(peer).header.sequence, ENOMEM);
    SendGrant(peer, ReceiveFrame<wire::HelloRequest>(peer).header.sequence);
  });

  EXPECT_EQ(Hello(agent), ENOMEM);
  EXPECT_TRUE(client_.refusal().refused);
  EXPECT_STREQ(client_.refusal().reason.data(), "limit_contexts");
  EXPECT_EQ(Hello(agent), 0);
}

TEST_F(AgentClientTest, NoAgentIsAnErrorAtOnce) {
  EXPECT_EQ(client_.Hello("/tmp/no-such-rb-socket", "", &grant_, &policy_, &counters_), ENOENT);
}

TEST_F(AgentClientTest, ASilentAgentIsATimeOutNotAHang) {
  std::uint64_t took_ns = 0;
  {
    OneAgent agent([](int peer) {
      ReceiveFrame<wire::HelloRequest>(peer);
      char byte = 0;
      ::recv(peer, &byte, 1, 0);  // until the client gives up and closes
    });
    const std::uint64_t start = NowNs();
    EXPECT_EQ(Hello(agent), ETIMEDOUT);
    took_ns = NowNs() - start;
  }

  EXPECT_GE(took_ns, (wire::kCallTimeoutMs - 50) * kNsPerMs);
  EXPECT_LT(took_ns, 2 * wire::kCallTimeoutMs * kNsPerMs);
}

TEST_F(AgentClientTest, AnAgentThatHangsUpIsALostConnection) {
  OneAgent agent([](int peer) { ReceiveFrame<wire::HelloRequest>(peer); });

  EXPECT_EQ(Hello(agent), ECONNRESET);

  EXPECT_FALSE(client_.connected());
}

struct BadAnswer {
  const char* name;
  std::function<void(int, std::uint32_t)> send;
};

class BadAnswerTest : public AgentClientTest, public ::testing::WithParamInterface<BadAnswer> {};

TEST_P(BadAnswerTest, IsAProtocolErrorAndEndsTheConnection) {
  OneAgent agent([this](int peer) {
    GetParam().send(peer, ReceiveFrame<wire::HelloRequest>(peer).header.sequence);
  });

  EXPECT_EQ(Hello(agent), EPROTO);

  EXPECT_FALSE(client_.connected());
}

void SendChanged(int peer, std::uint32_t sequence, void (*change)(wire::GrantReply*)) {
  auto grant = wire::MakeFrame<wire::GrantReply>(wire::FrameType::kGrant, sequence);
  change(&grant);
  const int fds[] = {0, 0};  // NOLINT(modernize-avoid-c-arrays)
  SendMessage(peer, &grant, sizeof(grant), fds, 2, 0);
}

INSTANTIATE_TEST_SUITE_P(
    Answers, BadAnswerTest,
    ::testing::Values(
        BadAnswer{"OtherSequence", [](int p, std::uint32_t s) { SendGrant(p, s + 1); }},
        BadAnswer{"OneFd", [](int p, std::uint32_t s) { SendGrant(p, s, 1); }},
        BadAnswer{"SurplusFd", [](int p, std::uint32_t s) { SendGrant(p, s, 3); }},
        BadAnswer{"Short", [](int p, std::uint32_t) { SendMessage(p, "abc", 3, nullptr, 0, 0); }},
        BadAnswer{"OtherMagic",
                  [](int p, std::uint32_t s) {
                    SendChanged(p, s, [](wire::GrantReply* g) { g->header.magic = 1; });
                  }},
        BadAnswer{"OtherVersion",
                  [](int p, std::uint32_t s) {
                    SendChanged(p, s, [](wire::GrantReply* g) { ++g->header.version; });
                  }},
        BadAnswer{"TooManyDevices",
                  [](int p, std::uint32_t s) {
                    SendChanged(p, s, [](wire::GrantReply* g) {
                      g->device_count = wire::kLeaseDevicesMax + 1;
                    });
                  }},
        BadAnswer{"TextWithoutEnd",
                  [](int p, std::uint32_t s) {
                    SendChanged(p, s, [](wire::GrantReply* g) {
                      g->device_count = 1;
                      g->devices[0].node.fill('x');
                    });
                  }},
        BadAnswer{"ErrnoZero", [](int p, std::uint32_t s) { SendError(p, s, 0); }},
        BadAnswer{"ErrnoTooLarge", [](int p, std::uint32_t s) { SendError(p, s, 4096); }}),
    [](const auto& param) { return std::string(param.param.name); });

// A daemon closes every descriptor, and its own file then has our socket's number.
TEST_F(AgentClientTest, NeverUsesANumberThatBelongsToSomebodyElse) {
  OneAgent first(
      [](int peer) { SendGrant(peer, ReceiveFrame<wire::HelloRequest>(peer).header.sequence); });
  const int before = ::dup(0);
  ::close(before);
  ASSERT_EQ(Hello(first), 0);  // the socket got the lowest free number

  UniqueFd theirs(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  ASSERT_EQ(::dup2(theirs.get(), before), before);

  EXPECT_FALSE(client_.connected());
  client_.Drop();
  FileIdentity still_open;
  EXPECT_TRUE(Identify(before, &still_open));
  ::close(before);
}

}  // namespace
}  // namespace rb::shim
