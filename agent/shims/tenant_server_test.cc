// The tenant socket as a process meets it: a real SEQPACKET socket, real leases, a fake kernel.
// Client and server share one loop, so nothing here depends on timing.
#include "agent/shims/tenant_server.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "api/wire/frames.h"
#include "api/wire/text.h"
#include "common/bare/fd_message.h"
#include "common/runtime/timer.h"
#include "common/runtime/unix_listener.h"
#include "tests/support/agent_process.h"

namespace rb::agent {
namespace {

using test::RunTask;
using wire::FrameType;

constexpr const char* kTokenLease = R"({"spec": {"tenant": "alice"}})";

std::string UidLease() {
  return R"({"spec": {"tenant": "alice", "workload": {"token": false, "uid": )" +
         std::to_string(::getuid()) + "}}}";
}

std::size_t OpenDescriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    ++count;
  }
  return count;
}

struct Answer {
  bool closed = false;
  std::vector<std::byte> packet;
  std::vector<UniqueFd> fds;

  FrameType type() const { return static_cast<FrameType>(As<wire::FrameHeader>().type); }
  std::uint32_t sequence() const { return As<wire::FrameHeader>().sequence; }
  std::string reason() const { return As<wire::ErrorReply>().reason.data(); }

  template <typename Frame>
  Frame As() const {
    Frame frame{};
    std::memcpy(&frame, packet.data(), std::min(packet.size(), sizeof(frame)));
    return frame;
  }
};

// One connection of a process. REQUIRES: the server outlives its answers.
class Tenant {
 public:
  Tenant(Loop& loop, const std::string& path)
      : loop_(loop),
        socket_(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)),
        watch_(std::make_unique<FdWatch>(loop, socket_.get())) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
    RB_CHECK(::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address),
                       sizeof(address)) == 0);
  }

  int SendBytes(const void* data, std::size_t bytes, std::span<const int> fds = {}) {
    return SendMessage(socket_.get(), data, bytes, fds.data(), fds.size(), MSG_DONTWAIT);
  }
  int Send(const auto& frame, std::span<const int> fds = {}) {
    return SendBytes(&frame, sizeof(frame), fds);
  }

  Answer Receive() { return RunTask(loop_, ReceiveOne()); }
  Answer Call(const auto& frame) {
    RB_CHECK(Send(frame) == 0);
    return Receive();
  }

  Answer Enter(const std::string& token) {
    auto frame = wire::MakeFrame<wire::EnterRequest>(FrameType::kEnter, ++sequence_);
    wire::SetText(&frame.token, token.c_str());
    return Call(frame);
  }
  Answer Hello(const std::string& token = {}) { return Call(HelloFor(token)); }
  Answer Open(const std::string& device) { return Call(OpenFor(device)); }

  wire::HelloRequest HelloFor(const std::string& token) {
    auto frame = wire::MakeFrame<wire::HelloRequest>(FrameType::kHello, ++sequence_);
    wire::SetText(&frame.token, token.c_str());
    return frame;
  }
  wire::OpenRequest OpenFor(const std::string& device) {
    auto frame = wire::MakeFrame<wire::OpenRequest>(FrameType::kOpen, ++sequence_);
    wire::SetText(&frame.device, device.c_str());
    return frame;
  }

  std::uint32_t sequence() const { return sequence_; }

  // Waits until an answer is there, and leaves it unread.
  void AwaitAnswer() { RunTask(loop_, watch_->Readable()); }

  void Close() {
    watch_.reset();
    socket_.Reset();
  }

 private:
  Task<Answer> ReceiveOne() {
    (void)co_await watch_->Readable();
    Answer answer;
    answer.packet.resize(wire::kFrameBytesMax);
    ReceivedMessage message;
    const int error = ReceiveMessage(socket_.get(), answer.packet.data(), answer.packet.size(),
                                     &message, MSG_DONTWAIT);
    answer.closed = error != 0 || message.bytes == 0;
    answer.packet.resize(message.bytes);
    for (std::size_t i = 0; i < message.fd_count; ++i) {
      answer.fds.push_back(std::move(message.fds[i]));
    }
    co_return answer;
  }

  Loop& loop_;
  UniqueFd socket_;
  std::unique_ptr<FdWatch> watch_;
  std::uint32_t sequence_ = 0;
};

class TenantServerTest : public ::testing::Test {
 protected:
  void SetUp() override { StartServer({}); }

  void TearDown() override { server_->Stop(); }

  void StartServer(TenantLimits limits) {
    if (server_) {
      server_->Stop();
      Turn();
      server_.reset();  // or its address would be taken
    }
    auto listener = ListenUnixSeqpacket(path_, 0666);
    ASSERT_TRUE(listener) << listener.error().message;
    server_ = std::make_unique<TenantServer>(TenantServer::Parts{.loop = node_.core.loop,
                                                                 .attach = node_.core.attach,
                                                                 .node = node_.core.node,
                                                                 .leases = node_.core.leases,
                                                                 .events = node_.core.events,
                                                                 .processes = node_.processes,
                                                                 .refusals = refusals_,
                                                                 .opens = opens_,
                                                                 .attach_time = attach_time_},
                                             std::move(*listener), limits);
    server_->Start();
  }

  Tenant Connect() { return {node_.core.loop, path_}; }

  // Lets what is ready on the loop happen.
  void Turn() { RunTask(node_.core.loop, SleepFor(node_.core.loop, std::chrono::nanoseconds(1))); }

  void AwaitConnections(std::size_t count) {
    while (server_->connections() != count) Turn();
  }

  double Refusals(const std::string& reason) {
    return node_.Metric("refusals_total", "reason=\"" + reason + "\"");
  }

  wire::CounterSlot& Slot(const std::string& lease, std::uint32_t slot) {
    return node_.Lease(lease).counters->page()->slots[slot];
  }

  std::vector<std::string> EventTypes() {
    std::vector<std::string> types;
    for (const rest::Event& event : node_.core.events.Since(0, 100)) types.push_back(event.type);
    return types;
  }

  test::AgentWithProcess node_;
  const std::string path_ = node_.machine.tree.Path("agent.sock");
  CounterFamily& refusals_ = node_.core.metrics.AddCounter("refusals_total", "Refusals.");
  CounterFamily& opens_ = node_.core.metrics.AddCounter("opens_total", "Opens.");
  HistogramFamily& attach_time_ = node_.core.metrics.AddHistogram("attach_seconds", "Time.", {1});
  std::unique_ptr<TenantServer> server_;
};

// --- What a workload does ---

TEST_F(TenantServerTest, HelloFindsTheLeaseOfTheCallersUid) {
  const CreatedLease lease = node_.AddLease(UidLease());
  Tenant tenant = Connect();

  const Answer answer = tenant.Hello();

  ASSERT_FALSE(answer.closed);
  ASSERT_EQ(answer.type(), FrameType::kGrant);
  EXPECT_EQ(answer.sequence(), tenant.sequence());
  const auto grant = answer.As<wire::GrantReply>();
  EXPECT_EQ(answer.packet.size(), sizeof(grant));
  EXPECT_EQ(grant.lease_id.data(), lease.id);
  EXPECT_STREQ(grant.tenant.data(), "alice");
  ASSERT_EQ(grant.device_count, 1U);
  EXPECT_STREQ(grant.devices[0].node.data(), "uverbs0");
  EXPECT_EQ(node_.core.attachments.CountOf(lease.id), 1U);
}

TEST_F(TenantServerTest, GrantBringsTheTwoPagesOfTheLease) {
  const CreatedLease lease = node_.AddLease(UidLease());
  Tenant tenant = Connect();

  const Answer answer = tenant.Hello();

  ASSERT_EQ(answer.fds.size(), 2U);
  const int policy = answer.fds[0].get();
  const int counters = answer.fds[1].get();
  EXPECT_EQ(::fcntl(policy, F_GETFL) & O_ACCMODE, O_RDONLY);
  EXPECT_EQ(::fcntl(policy, F_GETFD), FD_CLOEXEC);
  wire::PolicyPage page{};
  ASSERT_EQ(::pread(policy, &page, sizeof(page), 0), static_cast<ssize_t>(sizeof(page)));
  EXPECT_EQ(page.magic, wire::kPolicyMagic);
  EXPECT_EQ(page.state, static_cast<std::uint32_t>(wire::PolicyState::kActive));
  struct stat facts{};
  ASSERT_EQ(::fstat(counters, &facts), 0);
  EXPECT_EQ(facts.st_size, static_cast<off_t>(sizeof(wire::CountersPage)));
  EXPECT_EQ(::ftruncate(counters, 0), -1);  // sealed
  std::uint32_t magic = 0;
  ASSERT_EQ(::pread(counters, &magic, sizeof(magic), 0), static_cast<ssize_t>(sizeof(magic)));
  EXPECT_EQ(magic, wire::kCountersMagic);
}

TEST_F(TenantServerTest, EnterMovesTheCallerIntoTheLeasesCgroup) {
  const CreatedLease lease = node_.AddLease(kTokenLease);
  Tenant tenant = Connect();

  const Answer answer = tenant.Enter(lease.token);

  ASSERT_EQ(answer.type(), FrameType::kEntered);
  EXPECT_EQ(answer.As<wire::EnterReply>().lease_id.data(), lease.id);
  EXPECT_EQ(answer.sequence(), tenant.sequence());
  EXPECT_TRUE(answer.fds.empty());
  EXPECT_EQ(node_.processes.In(node_.Lease(lease.id).cgroup), std::vector<pid_t>{::getpid()});
}

TEST_F(TenantServerTest, WhoEnteredNeedsNoTokenAnyMore) {
  const CreatedLease lease = node_.AddLease(kTokenLease);
  Tenant launcher = Connect();
  ASSERT_EQ(launcher.Enter(lease.token).type(), FrameType::kEntered);
  Tenant workload = Connect();

  const Answer answer = workload.Hello();

  ASSERT_EQ(answer.type(), FrameType::kGrant);
  EXPECT_EQ(answer.As<wire::GrantReply>().lease_id.data(), lease.id);
}

TEST_F(TenantServerTest, OpenHandsOutAFreshFileAndItsSlot) {
  const CreatedLease lease = node_.AddLease(UidLease());
  Tenant tenant = Connect();
  ASSERT_EQ(tenant.Hello().type(), FrameType::kGrant);

  const Answer answer = tenant.Open("rxe0");

  ASSERT_EQ(answer.type(), FrameType::kOpened);
  const auto opened = answer.As<wire::OpenReply>();
  EXPECT_EQ(answer.sequence(), tenant.sequence());
  EXPECT_EQ(opened.slot, 0U);
  EXPECT_EQ(opened.device_index, 0U);
  EXPECT_EQ(opened.driver_id, 14U);
  ASSERT_EQ(answer.fds.size(), 1U);
  EXPECT_EQ(::fcntl(answer.fds[0].get(), F_GETFL) & O_ACCMODE, O_RDWR);
  EXPECT_EQ(Slot(lease.id, 0).state, static_cast<std::uint32_t>(wire::SlotState::kOpen));
  EXPECT_EQ(Slot(lease.id, 0).opener_pid, static_cast<std::uint32_t>(::getpid()));
  EXPECT_EQ(node_.Metric("opens_total", R"(tenant="alice",device="rxe0")"), 1);
}

TEST_F(TenantServerTest, EveryAnswerIsTimed) {
  const CreatedLease lease = node_.AddLease(UidLease());
  Tenant tenant = Connect();
  ASSERT_EQ(tenant.Hello().type(), FrameType::kGrant);
  ASSERT_EQ(tenant.Open("rxe0").type(), FrameType::kOpened);

  EXPECT_EQ(node_.Metric("attach_seconds_count", R"(step="grant")"), 1);
  EXPECT_EQ(node_.Metric("attach_seconds_count", R"(step="open")"), 1);
}

// --- Refusals: an ERROR, an event, a count, and the connection goes on ---

TEST_F(TenantServerTest, ARefusalNamesItsReasonAndTheConnectionGoesOn) {
  const CreatedLease lease = node_.AddLease(kTokenLease);
  Tenant tenant = Connect();

  const Answer refused = tenant.Hello("rbl_wrong");
  const Answer granted = tenant.Hello(lease.token);

  ASSERT_EQ(refused.type(), FrameType::kError);
  EXPECT_EQ(refused.reason(), "bad_token");
  EXPECT_EQ(refused.As<wire::ErrorReply>().errno_value, static_cast<std::uint32_t>(EACCES));
  EXPECT_TRUE(refused.fds.empty());
  EXPECT_EQ(granted.type(), FrameType::kGrant);
  EXPECT_EQ(Refusals("bad_token"), 1);
  const rest::Event event = node_.core.events.Since(0, 100).back();
  EXPECT_EQ(event.type, "refused");
  EXPECT_EQ(event.reason, "bad_token");
  EXPECT_EQ(event.details.at("pid"), std::to_string(::getpid()));
  EXPECT_EQ(event.details.at("uid"), std::to_string(::getuid()));
  EXPECT_EQ(event.message.find("rbl_"), std::string::npos);  // a token is a secret
}

TEST_F(TenantServerTest, WhoIsRefusedAgainAndAgainDoesNotFillTheEventLog) {
  Tenant tenant = Connect();
  for (int i = 0; i < 50; ++i) ASSERT_EQ(tenant.Hello("rbl_wrong").reason(), "bad_token");

  // One a second: a slow machine may see a second one.
  const std::vector<std::string> types = EventTypes();
  const auto refused = std::ranges::count(types, "refused");
  EXPECT_GE(refused, 1);
  EXPECT_LT(refused, 25);
  EXPECT_EQ(Refusals("bad_token"), 50);
}

TEST_F(TenantServerTest, WithoutALeaseThereIsNoDevice) {
  Tenant tenant = Connect();

  const Answer answer = tenant.Hello();

  ASSERT_EQ(answer.type(), FrameType::kError);
  EXPECT_EQ(answer.reason(), "no_lease");
  EXPECT_EQ(answer.As<wire::ErrorReply>().errno_value, static_cast<std::uint32_t>(ENOENT));
}

TEST_F(TenantServerTest, ATokenForAnotherUidIsRefused) {
  const CreatedLease lease =
      node_.AddLease(R"({"spec": {"tenant": "alice", "workload": {"token": true, "uid": 4242}}})");
  Tenant tenant = Connect();

  EXPECT_EQ(tenant.Enter(lease.token).reason(), "wrong_uid");
  EXPECT_TRUE(node_.processes.In(node_.Lease(lease.id).cgroup).empty());
}

TEST_F(TenantServerTest, ADeviceThatTheLeaseDoesNotHaveIsRefused) {
  const CreatedLease lease = node_.AddLease(UidLease());
  Tenant tenant = Connect();
  ASSERT_EQ(tenant.Hello().type(), FrameType::kGrant);

  for (const char* device : {"rxe1", "mlx5_0", "../uverbs0", "RXE0"}) {
    const Answer answer = tenant.Open(device);

    ASSERT_EQ(answer.type(), FrameType::kError) << device;
    EXPECT_EQ(answer.reason(), "device_not_leased") << device;
  }
  EXPECT_TRUE(node_.kernel.opener.opened.empty());
}

TEST_F(TenantServerTest, AnUnpluggedDeviceIsGone) {
  const CreatedLease lease = node_.AddLease(UidLease());
  Tenant tenant = Connect();
  ASSERT_EQ(tenant.Hello().type(), FrameType::kGrant);
  node_.kernel.opener.devices.clear();

  const Answer answer = tenant.Open("rxe0");

  EXPECT_EQ(answer.reason(), "device_gone");
  EXPECT_EQ(answer.As<wire::ErrorReply>().errno_value, static_cast<std::uint32_t>(ENOENT));
}

TEST_F(TenantServerTest, OneContextPastTheLimitIsRefusedAsTheDriverWould) {
  const CreatedLease lease = node_.AddLease(
      R"({"spec": {"tenant": "alice", "limits": {"contexts": 2}, "workload": {"token": false, "uid": )" +
      std::to_string(::getuid()) + "}}}");
  Tenant tenant = Connect();
  ASSERT_EQ(tenant.Hello().type(), FrameType::kGrant);
  ASSERT_EQ(tenant.Open("rxe0").type(), FrameType::kOpened);
  ASSERT_EQ(tenant.Open("rxe0").type(), FrameType::kOpened);

  const Answer answer = tenant.Open("rxe0");

  ASSERT_EQ(answer.type(), FrameType::kError);
  EXPECT_EQ(answer.reason(), "limit_contexts");
  EXPECT_EQ(answer.As<wire::ErrorReply>().errno_value, static_cast<std::uint32_t>(ENOMEM));
  // One event, made from the lease's page like every other denial.
  node_.core.settler.ReportDenials();
  const std::vector<std::string> types = EventTypes();
  EXPECT_EQ(std::ranges::count(types, "refused"), 0);
  EXPECT_EQ(std::ranges::count(types, "denied"), 1);
  EXPECT_EQ(Refusals("limit_contexts"), 1);
}

TEST_F(TenantServerTest, WhoLeftTheLeasesCgroupGetsNoMoreFiles) {
  const CreatedLease lease = node_.AddLease(UidLease());
  Tenant tenant = Connect();
  ASSERT_EQ(tenant.Hello().type(), FrameType::kGrant);
  node_.processes.Move(::getpid(), "/elsewhere");

  EXPECT_EQ(tenant.Open("rxe0").reason(), "other_lease");
  EXPECT_TRUE(node_.kernel.opener.opened.empty());
}

TEST_F(TenantServerTest, ARevokedLeaseGivesNothingMore) {
  const CreatedLease lease = node_.AddLease(UidLease());
  Tenant tenant = Connect();
  ASSERT_EQ(tenant.Hello().type(), FrameType::kGrant);
  node_.Revoke(lease.id);

  EXPECT_EQ(tenant.Open("rxe0").type(), FrameType::kError);
  EXPECT_EQ(tenant.Hello().reason(), "no_lease");
  EXPECT_TRUE(node_.kernel.opener.opened.empty());
}

TEST_F(TenantServerTest, AProcessThatIsGoneIsNotAnswered) {
  node_.processes.Remove(::getpid());
  Tenant tenant = Connect();

  EXPECT_TRUE(tenant.Hello().closed);
  EXPECT_EQ(Refusals("peer_gone"), 1);
}

TEST_F(TenantServerTest, AConnectionDoesNotPassToAnotherProcess) {
  const CreatedLease lease = node_.AddLease(UidLease());
  Tenant tenant = Connect();
  ASSERT_EQ(tenant.Hello().type(), FrameType::kGrant);
  node_.processes.Replace(::getpid());

  EXPECT_TRUE(tenant.Open("rxe0").closed);
  EXPECT_TRUE(node_.kernel.opener.opened.empty());
}

// --- What is not the protocol: the connection closes ---

TEST_F(TenantServerTest, OpenBeforeHelloClosesTheConnection) {
  const CreatedLease lease = node_.AddLease(UidLease());
  Tenant tenant = Connect();

  EXPECT_TRUE(tenant.Open("rxe0").closed);
  EXPECT_EQ(Refusals("bad_frame"), 1);
  EXPECT_TRUE(node_.kernel.opener.opened.empty());
}

TEST_F(TenantServerTest, AMalformedFrameClosesTheConnection) {
  Tenant tenant = Connect();
  auto frame = tenant.HelloFor("");
  frame.reserved = 1;

  EXPECT_TRUE(tenant.Call(frame).closed);
  EXPECT_EQ(Refusals("bad_frame"), 1);
}

TEST_F(TenantServerTest, AnotherVersionClosesTheConnectionAndIsCountedApart) {
  Tenant tenant = Connect();
  auto frame = tenant.HelloFor("");
  frame.header.version = 2;

  EXPECT_TRUE(tenant.Call(frame).closed);
  EXPECT_EQ(Refusals("wrong_version"), 1);
}

TEST_F(TenantServerTest, APacketThatIsNotAFrameClosesTheConnection) {
  const std::string http = "GET /v1/leases HTTP/1.1\r\nHost: agent\r\n\r\n";
  const std::string large(wire::kFrameBytesMax + 1, 'x');
  for (const std::string& text : {std::string("x"), http, large, std::string(4096, '\0')}) {
    Tenant tenant = Connect();
    ASSERT_EQ(tenant.SendBytes(text.data(), text.size()), 0);

    EXPECT_TRUE(tenant.Receive().closed) << text.size();
  }
  EXPECT_EQ(Refusals("bad_frame"), 4);
}

TEST_F(TenantServerTest, AnEmptyPacketClosesTheConnection) {
  Tenant tenant = Connect();
  ASSERT_EQ(tenant.SendBytes("", 0), 0);

  EXPECT_TRUE(tenant.Receive().closed);
}

TEST_F(TenantServerTest, SurplusDescriptorsAreClosedAndSoIsTheConnection) {
  const CreatedLease lease = node_.AddLease(UidLease());
  Turn();
  const std::size_t before = OpenDescriptors();
  for (const std::size_t count : {std::size_t{1}, kMessageFdsMax}) {
    Tenant tenant = Connect();
    const std::vector<int> fds(count, STDIN_FILENO);
    ASSERT_EQ(tenant.Send(tenant.HelloFor(""), fds), 0);

    EXPECT_TRUE(tenant.Receive().closed) << count;
  }
  EXPECT_EQ(OpenDescriptors(), before);
  EXPECT_EQ(Refusals("bad_frame"), 2);
  EXPECT_EQ(node_.core.attachments.CountOf(lease.id), 0U);
}

TEST_F(TenantServerTest, WhoAsksAgainBeforeReadingTheAnswerIsDisconnected) {
  const CreatedLease lease = node_.AddLease(UidLease());
  Tenant tenant = Connect();
  ASSERT_EQ(tenant.Hello().type(), FrameType::kGrant);
  ASSERT_EQ(tenant.Send(tenant.HelloFor("")), 0);
  ASSERT_EQ(tenant.Send(tenant.HelloFor("")), 0);

  AwaitConnections(0);

  EXPECT_EQ(Refusals("unread_reply"), 1);
  EXPECT_EQ(tenant.Receive().type(), FrameType::kGrant);  // the one answer that was sent
  EXPECT_TRUE(tenant.Receive().closed);
}

TEST_F(TenantServerTest, UnreadAnswersDoNotAddUp) {
  const CreatedLease lease = node_.AddLease(UidLease());
  Tenant tenant = Connect();
  ASSERT_EQ(tenant.Hello().type(), FrameType::kGrant);
  for (int i = 0; i < 10; ++i) ASSERT_EQ(tenant.Send(tenant.OpenFor("rxe0")), 0);

  AwaitConnections(0);

  EXPECT_EQ(node_.kernel.opener.opened.size(), 1U);
}

// --- Limits of the socket ---

TEST_F(TenantServerTest, AConnectionWithoutALeaseIsClosedAndOneWithItIsNot) {
  StartServer({.first_frame_timeout = std::chrono::milliseconds(20),
               .lease_timeout = std::chrono::milliseconds(40)});
  const CreatedLease lease = node_.AddLease(UidLease());
  Tenant refused = Connect();
  ASSERT_EQ(refused.Hello("rbl_wrong").reason(), "bad_token");
  Tenant speaker = Connect();
  ASSERT_EQ(speaker.Hello().type(), FrameType::kGrant);
  Tenant silent = Connect();

  EXPECT_TRUE(silent.Receive().closed);
  EXPECT_TRUE(refused.Receive().closed);

  // The speaker connected before the silent one, so its time is over too.
  EXPECT_EQ(speaker.Open("rxe0").type(), FrameType::kOpened);
  EXPECT_EQ(server_->connections(), 1U);
}

TEST_F(TenantServerTest, OneConnectionPastAUidsShareIsClosed) {
  StartServer({.connections_per_uid_max = 2});
  Tenant first = Connect();
  Tenant second = Connect();
  ASSERT_EQ(first.Hello().reason(), "no_lease");
  ASSERT_EQ(second.Hello().reason(), "no_lease");
  Tenant third = Connect();

  EXPECT_TRUE(third.Receive().closed);
  EXPECT_EQ(Refusals("connections"), 1);
  // The two that were there are served on.
  EXPECT_EQ(first.Hello().reason(), "no_lease");
}

TEST_F(TenantServerTest, AClosedConnectionGivesItsPlaceBack) {
  StartServer({.connections_max = 1, .connections_per_uid_max = 1});
  for (int i = 0; i < 3; ++i) {
    Tenant tenant = Connect();
    EXPECT_EQ(tenant.Hello().reason(), "no_lease") << i;
    tenant.Close();
    AwaitConnections(0);
  }
  EXPECT_EQ(Refusals("connections"), 0);
}

TEST_F(TenantServerTest, OneConnectionPastTheTotalIsClosed) {
  StartServer({.connections_max = 1});
  Tenant first = Connect();
  ASSERT_EQ(first.Hello().reason(), "no_lease");
  Tenant second = Connect();

  EXPECT_TRUE(second.Receive().closed);
  EXPECT_EQ(Refusals("connections"), 1);
}

TEST_F(TenantServerTest, AThousandIdleConnectionsLeaveRoomForOneMore) {
  // Both ends and a pidfd each are in this process.
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  limit.rlim_cur = limit.rlim_max;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  if (limit.rlim_cur < 4096) GTEST_SKIP() << "only " << limit.rlim_cur << " descriptors allowed";
  const CreatedLease lease = node_.AddLease(UidLease());
  std::vector<std::unique_ptr<Tenant>> idle;
  for (int i = 0; i < 1000; ++i) {
    idle.push_back(std::make_unique<Tenant>(node_.core.loop, path_));
    ASSERT_EQ(idle.back()->Hello().type(), FrameType::kGrant) << i;
  }
  Tenant tenant = Connect();

  EXPECT_EQ(tenant.Hello().type(), FrameType::kGrant);
  EXPECT_EQ(tenant.Open("rxe0").type(), FrameType::kOpened);
  EXPECT_EQ(server_->connections(), 1001U);
}

TEST_F(TenantServerTest, StopClosesEveryConnectionAndTakesNoNewOne) {
  const CreatedLease lease = node_.AddLease(UidLease());
  Tenant tenant = Connect();
  const Answer grant = tenant.Hello();

  server_->Stop();

  EXPECT_TRUE(tenant.Receive().closed);
  EXPECT_EQ(server_->connections(), 0U);
  // What was handed out stays good.
  std::uint32_t magic = 0;
  EXPECT_EQ(::pread(grant.fds[1].get(), &magic, sizeof(magic), 0), 4);
}

// --- A file that nobody took ---

TEST_F(TenantServerTest, AFileWhoseAnswerWasNeverReadIsNotHeldAgainstTheLease) {
  const CreatedLease lease = node_.AddLease(
      R"({"spec": {"tenant": "alice", "limits": {"contexts": 1}, "workload": {"token": false, "uid": )" +
      std::to_string(::getuid()) + "}}}");
  // A shim whose deadline passed hangs up while the answer is on its way.
  Tenant late = Connect();
  ASSERT_EQ(late.Hello().type(), FrameType::kGrant);
  ASSERT_EQ(late.Send(late.OpenFor("rxe0")), 0);
  late.AwaitAnswer();
  late.Close();
  AwaitConnections(0);
  Tenant again = Connect();
  ASSERT_EQ(again.Hello().type(), FrameType::kGrant);

  EXPECT_EQ(again.Open("rxe0").type(), FrameType::kOpened);
}

TEST_F(TenantServerTest, AFileWhoseAnswerWasReadStaysOnTheBooks) {
  const CreatedLease lease = node_.AddLease(
      R"({"spec": {"tenant": "alice", "limits": {"contexts": 1}, "workload": {"token": false, "uid": )" +
      std::to_string(::getuid()) + "}}}");
  Tenant tenant = Connect();
  ASSERT_EQ(tenant.Hello().type(), FrameType::kGrant);
  const Answer opened = tenant.Open("rxe0");
  ASSERT_EQ(opened.type(), FrameType::kOpened);
  // Now an answer without a file stays unread: that must not give the file's place back.
  ASSERT_EQ(tenant.Send(tenant.HelloFor("")), 0);
  tenant.AwaitAnswer();
  tenant.Close();
  AwaitConnections(0);
  Tenant again = Connect();
  ASSERT_EQ(again.Hello().type(), FrameType::kGrant);

  EXPECT_EQ(again.Open("rxe0").reason(), "limit_contexts");
}

}  // namespace
}  // namespace rb::agent
