#include "agent/attest/attest.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

namespace rb::agent {
namespace {

// Serves facts from memory; the next read can be told to differ.
class FakeProcesses final : public ProcessTable {
 public:
  Result<ProcessFacts> Read(pid_t pid) const override {
    if (gone) return Fail(ErrorCode::kNotFound, "process: gone");
    ProcessFacts facts = next;
    facts.pid = pid;
    return facts;
  }

  ProcessFacts next{.pid = 0, .start_time_ticks = 42, .cgroup = "/a", .command = "test"};
  bool gone = false;
};

class AttestTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::array<int, 2> ends{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()), 0);
    near_.Reset(ends[0]);
    far_.Reset(ends[1]);
  }

  UniqueFd near_;
  UniqueFd far_;
  FakeProcesses processes_;
};

TEST_F(AttestTest, NamesThePeerOfTheSocket) {
  auto peer = AttestPeer(near_.get(), processes_);

  ASSERT_TRUE(peer) << peer.error().message;
  EXPECT_EQ(peer->facts.pid, ::getpid());
  EXPECT_EQ(peer->uid, ::getuid());
  EXPECT_EQ(peer->facts.cgroup, "/a");
}

TEST_F(AttestTest, APeerWithoutFactsIsGone) {
  processes_.gone = true;

  auto peer = AttestPeer(near_.get(), processes_);

  ASSERT_FALSE(peer);
  EXPECT_EQ(peer.error().reason, "peer_gone");
}

TEST_F(AttestTest, AnotherUsersProcessWithThePeersPidIsNotThePeer) {
  processes_.next.effective_uid = ::getuid() + 1;

  auto peer = AttestPeer(near_.get(), processes_);

  ASSERT_FALSE(peer);
  EXPECT_EQ(peer.error().reason, "peer_gone");
}

TEST_F(AttestTest, SomethingThatIsNoUnixSocketIsAnError) {
  const UniqueFd file(::dup(0));

  EXPECT_FALSE(AttestPeer(file.get(), processes_));
}

TEST_F(AttestTest, AReusedPidIsNotTheSameProcess) {
  auto peer = AttestPeer(near_.get(), processes_);
  ASSERT_TRUE(peer);
  processes_.next.start_time_ticks = 43;

  auto again = Reattest(*peer, processes_);

  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().reason, "peer_gone");
}

TEST_F(AttestTest, ReattestShowsWhereTheProcessIsNow) {
  auto peer = AttestPeer(near_.get(), processes_);
  ASSERT_TRUE(peer);
  processes_.next.cgroup = "/b";

  auto again = Reattest(*peer, processes_);

  ASSERT_TRUE(again);
  EXPECT_EQ(again->cgroup, "/b");
}

}  // namespace
}  // namespace rb::agent
