#include "agent/control/attach.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "common/runtime/process.h"
#include "tests/support/agent_core.h"

namespace rb::agent {
namespace {

using test::Keep;
using test::RunTask;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr pid_t kPid = 4242;
constexpr uid_t kUid = 1000;
constexpr std::size_t kContexts = wire::Index(wire::Limit::kContexts);

class AttachTest : public ::testing::Test {
 protected:
  CreatedLease Create(rest::LeaseRequest request) {
    auto created = RunTask(agent_.loop, agent_.service.Create(std::move(request)));
    EXPECT_TRUE(created) << created.error().message;
    return created.value_or(CreatedLease{});
  }

  // A process of the fake kernel; its pidfd is this test's own, which stays alive.
  Attested Peer(pid_t pid = kPid, uid_t uid = kUid, const std::string& cgroup = "/user.slice") {
    const ProcessFacts facts{
        .pid = pid, .uid = uid, .start_time_ticks = 7, .cgroup = cgroup, .command = "job"};
    machine_.kernel.processes.Add(facts);
    return {.facts = facts, .uid = uid, .gid = uid, .pidfd = OpenPidfd(::getpid()).value()};
  }

  Result<std::string> Enter(const Attested& peer, const std::string& token) {
    return RunTask(agent_.loop, agent_.attach.Enter(peer, token));
  }
  Result<std::string> Hello(const Attested& peer, const std::string& token = {}) {
    return RunTask(agent_.loop, agent_.attach.Hello(peer, token));
  }
  Result<OpenedDevice> Open(const Attested& peer, const std::string& lease,
                            const std::string& device = "rxe0") {
    return RunTask(agent_.loop, agent_.attach.Open(peer, lease, device));
  }

  std::string CgroupOf(pid_t pid) { return machine_.kernel.processes.Read(pid)->cgroup; }
  wire::CounterSlot& Slot(const std::string& lease, std::uint32_t slot) {
    return agent_.leases.Find(lease)->counters->page()->slots[slot];
  }
  void Revoke(const std::string& lease) {
    ASSERT_TRUE(RunTask(agent_.loop, agent_.service.Revoke(lease, {})));
  }

  test::AgentNode machine_;
  test::AgentCore agent_{machine_};
};

TEST_F(AttachTest, ATokenMovesTheProcessIntoTheLease) {
  const CreatedLease lease = Create(test::TokenRequest());

  const auto entered = Enter(Peer(), lease.token);

  ASSERT_TRUE(entered) << entered.error().message;
  EXPECT_EQ(*entered, lease.id);
  EXPECT_EQ(CgroupOf(kPid), "/rdma-broker/" + lease.id);
}

TEST_F(AttachTest, HelloAfterEnterNeedsNoToken) {
  const CreatedLease lease = Create(test::TokenRequest());
  ASSERT_TRUE(Enter(Peer(), lease.token));

  const auto hello = Hello(Peer(kPid, kUid, "/rdma-broker/" + lease.id));

  ASSERT_TRUE(hello) << hello.error().message;
  EXPECT_EQ(*hello, lease.id);
  ASSERT_EQ(agent_.attachments.List().size(), 1U);
  EXPECT_EQ(agent_.attachments.List()[0].command, "job");
}

TEST_F(AttachTest, HelloWithATokenMovesAndAttaches) {
  const CreatedLease lease = Create(test::TokenRequest());

  const auto hello = Hello(Peer(), lease.token);

  ASSERT_TRUE(hello) << hello.error().message;
  EXPECT_EQ(CgroupOf(kPid), "/rdma-broker/" + lease.id);
  EXPECT_EQ(agent_.attachments.CountOf(lease.id), 1U);
}

TEST_F(AttachTest, OfTwoLeasesAtOnceOnlyOneGetsTheProcess) {
  const CreatedLease red = Create(test::TokenRequest("red"));
  const CreatedLease blue = Create(test::TokenRequest("blue"));
  const Attested peer = Peer();
  Result<std::string> first = Fail(ErrorCode::kInternal, "not called");
  Result<std::string> second = Fail(ErrorCode::kInternal, "not called");
  agent_.loop.Spawn(Keep(agent_.attach.Enter(peer, red.token), &first));
  agent_.loop.Spawn(Keep(agent_.attach.Enter(peer, blue.token), &second));

  const bool done =
      agent_.RunUntil([&] { return first && !second && second.error().reason == "other_lease"; });

  EXPECT_TRUE(done);
  EXPECT_EQ(CgroupOf(kPid), "/rdma-broker/" + red.id);
}

TEST_F(AttachTest, AProcessThatExitedIsNotMovedByItsPid) {
  const CreatedLease lease = Create(test::TokenRequest());
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  Attested peer = Peer();
  peer.pidfd = OpenPidfd(child).value();
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);

  EXPECT_EQ(Enter(peer, lease.token).error().reason, "peer_gone");

  EXPECT_EQ(CgroupOf(kPid), "/user.slice");
}

TEST_F(AttachTest, AWrongTokenIsRefused) {
  Create(test::TokenRequest());

  EXPECT_EQ(Enter(Peer(), "rbl_wrong").error().reason, "bad_token");
  EXPECT_EQ(Hello(Peer(), "rbl_wrong").error().reason, "bad_token");
  EXPECT_EQ(Enter(Peer(), "").error().reason, "bad_token");
  EXPECT_EQ(CgroupOf(kPid), "/user.slice");
}

TEST_F(AttachTest, ATokenForOneUserIsOfNoUseToAnother) {
  rest::LeaseRequest request = test::TokenRequest();
  request.spec.workload.uid = kUid;
  const CreatedLease lease = Create(request);

  EXPECT_EQ(Enter(Peer(kPid, kUid + 1), lease.token).error().reason, "wrong_uid");
  EXPECT_TRUE(Enter(Peer(kPid, kUid), lease.token));
}

TEST_F(AttachTest, AProcessOfOneLeaseCannotEnterAnother) {
  const CreatedLease first = Create(test::TokenRequest("red"));
  const CreatedLease second = Create(test::TokenRequest("blue"));

  const auto entered = Enter(Peer(kPid, kUid, "/rdma-broker/" + first.id), second.token);

  ASSERT_FALSE(entered);
  EXPECT_EQ(entered.error().reason, "other_lease");
}

TEST_F(AttachTest, TheCgroupSaysWhoseAProcessIsWhateverTokenItShows) {
  const CreatedLease first = Create(test::TokenRequest("red"));
  const CreatedLease second = Create(test::TokenRequest("blue"));

  const auto hello = Hello(Peer(kPid, kUid, "/rdma-broker/" + first.id + "/child"), second.token);

  ASSERT_TRUE(hello);
  EXPECT_EQ(*hello, first.id);
}

TEST_F(AttachTest, ACgroupLeaseIsForWhoeverIsInTheCgroup) {
  machine_.kernel.cgroups.Add("/pods/pod1");
  const CreatedLease lease = Create(test::CgroupRequest("/pods/pod1"));

  const auto hello = Hello(Peer(kPid, kUid, "/pods/pod1/container"));

  ASSERT_TRUE(hello) << hello.error().message;
  EXPECT_EQ(*hello, lease.id);
  EXPECT_EQ(CgroupOf(kPid), "/pods/pod1/container");
}

TEST_F(AttachTest, AUserLeaseTakesInTheUsersProcesses) {
  const CreatedLease lease = Create(test::UidRequest(kUid));

  const auto hello = Hello(Peer());

  ASSERT_TRUE(hello) << hello.error().message;
  EXPECT_EQ(*hello, lease.id);
  EXPECT_EQ(CgroupOf(kPid), "/rdma-broker/" + lease.id);
  EXPECT_EQ(Hello(Peer(kPid + 1, kUid + 1)).error().reason, "no_lease");
}

TEST_F(AttachTest, AProcessWithoutALeaseIsToldWhoItIs) {
  const auto hello = Hello(Peer());

  ASSERT_FALSE(hello);
  EXPECT_EQ(hello.error().reason, "no_lease");
  EXPECT_THAT(hello.error().message, HasSubstr("pid 4242 (job), uid 1000, cgroup /user.slice"));
}

TEST_F(AttachTest, AnEndedLeaseAdmitsNobody) {
  const CreatedLease lease = Create(test::TokenRequest());
  Revoke(lease.id);

  EXPECT_EQ(Enter(Peer(), lease.token).error().reason, "bad_token");
  EXPECT_EQ(Hello(Peer(kPid, kUid, "/rdma-broker/" + lease.id)).error().reason, "no_lease");
}

TEST_F(AttachTest, ADrainingLeaseAdmitsNobody) {
  const CreatedLease lease = Create(test::TokenRequest());
  const rest::RevokeRequest request{.grace_ms = 600'000, .reason = {}};
  ASSERT_TRUE(RunTask(agent_.loop, agent_.service.Revoke(lease.id, request)));

  EXPECT_EQ(Enter(Peer(), lease.token).error().reason, "not_active");
  EXPECT_EQ(Hello(Peer(kPid, kUid, "/rdma-broker/" + lease.id)).error().reason, "not_active");
}

TEST_F(AttachTest, ALeaseThatEndsWhileTheProcessIsMovedIsNotGranted) {
  const CreatedLease lease = Create(test::TokenRequest());
  machine_.kernel.cgroups.on_enter = [&](pid_t) {
    agent_.loop.Post([&] { agent_.leases.Find(lease.id)->ending = true; });
  };

  EXPECT_EQ(Enter(Peer(), lease.token).error().reason, "not_active");
  agent_.leases.Find(lease.id)->ending = false;
  EXPECT_EQ(Hello(Peer(), lease.token).error().reason, "not_active");
  EXPECT_THAT(agent_.attachments.List(), IsEmpty());
}

TEST_F(AttachTest, APidThatWasReusedDuringTheMoveIsNotGranted) {
  const CreatedLease lease = Create(test::TokenRequest());
  machine_.kernel.cgroups.on_enter = [this](pid_t pid) { machine_.kernel.processes.Replace(pid); };

  EXPECT_EQ(Enter(Peer(), lease.token).error().reason, "peer_gone");
}

TEST_F(AttachTest, ACgroupThatIsGoneRefusesTheMove) {
  const CreatedLease lease = Create(test::TokenRequest());
  ASSERT_TRUE(machine_.kernel.cgroups.Remove("/rdma-broker/" + lease.id));

  EXPECT_EQ(Enter(Peer(), lease.token).error().code, ErrorCode::kNotFound);
}

TEST_F(AttachTest, ALeaseWithoutItsPagesAdmitsNobody) {
  const CreatedLease lease = Create(test::TokenRequest());
  agent_.leases.Find(lease.id)->policy.reset();

  const auto hello = Hello(Peer(), lease.token);

  ASSERT_FALSE(hello);
  EXPECT_EQ(hello.error().reason, "not_active");
}

// A process in a lease, ready to open.
class AttachOpenTest : public AttachTest {
 protected:
  void SetUp() override {
    rest::LeaseRequest request = test::TokenRequest();
    request.spec.limits[wire::Limit::kContexts] = 2;
    lease_ = Create(request).id;
    peer_ = Member(kPid);
  }

  Attested Member(pid_t pid) { return Peer(pid, kUid, "/rdma-broker/" + lease_); }

  std::string lease_;
  Attested peer_;
};

TEST_F(AttachOpenTest, HandsOutAFileAndASlot) {
  const auto opened = Open(peer_, lease_);

  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_TRUE(opened->file);
  EXPECT_EQ(opened->slot, 0U);
  EXPECT_EQ(opened->device_index, 0U);
  EXPECT_EQ(opened->driver_id, 14U);
  EXPECT_EQ(Slot(lease_, 0).state, static_cast<std::uint32_t>(wire::SlotState::kOpen));
  EXPECT_EQ(Slot(lease_, 0).opener_pid, static_cast<std::uint32_t>(kPid));
  EXPECT_EQ(Slot(lease_, 0).holders, 1U);
  const SlotNote note{.slot = 0, .device = "rxe0", .opener = kPid};
  EXPECT_THAT(agent_.leases.Find(lease_)->slots, testing::ElementsAre(note));
}

TEST_F(AttachOpenTest, OnePastTheLimitIsRefusedAndCountedOnce) {
  ASSERT_TRUE(Open(peer_, lease_));
  ASSERT_TRUE(Open(peer_, lease_));

  const auto third = Open(peer_, lease_);

  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().reason, "limit_contexts");
  EXPECT_EQ(third.error().code, ErrorCode::kExhausted);
  agent_.settler.ReportDenials();
  agent_.settler.ReportDenials();
  const auto denied = agent_.EventsOf("denied");
  ASSERT_EQ(denied.size(), 1U);
  EXPECT_EQ(denied[0].reason, "limit_contexts");
  EXPECT_EQ(denied[0].details.at("used"), "2");
  EXPECT_EQ(denied[0].details.at("allowed"), "2");
  EXPECT_EQ(denied[0].details.at("pid"), "4242");
  EXPECT_THAT(agent_.metrics.Text(),
              HasSubstr(R"(denials_total{limit="contexts",tenant="red"} 1)"));
}

TEST_F(AttachOpenTest, AClosedSlotIsUsedAgainAndItsCountsAreKept) {
  ASSERT_TRUE(Open(peer_, lease_));
  ASSERT_TRUE(Open(peer_, lease_));
  Slot(lease_, 0).ops[0].bytes = 50;
  Slot(lease_, 0).state = static_cast<std::uint32_t>(wire::SlotState::kClosed);
  RunTask(agent_.loop, agent_.settler.Settle(lease_));

  const auto again = Open(peer_, lease_);

  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->slot, 0U);
  EXPECT_EQ(Slot(lease_, 0).ops[0].bytes, 0U);
  EXPECT_EQ(agent_.leases.Find(lease_)->counters->page()->retired[0].ops[0].bytes, 50U);
}

TEST_F(AttachOpenTest, AFileThatIsSaidToBeClosedDoesNotCount) {
  ASSERT_TRUE(Open(peer_, lease_));
  ASSERT_TRUE(Open(peer_, lease_));
  Slot(lease_, 0).state = static_cast<std::uint32_t>(wire::SlotState::kClosed);

  const auto again = Open(peer_, lease_);

  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->slot, 2U);
}

TEST_F(AttachOpenTest, FilesOfADeadProcessMakeRoom) {
  const Attested other = Member(kPid + 1);
  ASSERT_TRUE(Open(other, lease_));
  ASSERT_TRUE(Open(other, lease_));
  Slot(lease_, 1).used[kContexts + 1] = 3;
  machine_.kernel.processes.Remove(kPid + 1);

  const auto opened = Open(peer_, lease_);

  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ(opened->slot, 0U);
  EXPECT_EQ(Slot(lease_, 1).used[kContexts + 1], 0U);
}

TEST_F(AttachOpenTest, TwoProcessesBothGetTheRoomThatADeadOneLeft) {
  const Attested dead = Member(kPid + 1);
  const Attested other = Member(kPid + 2);
  ASSERT_TRUE(Open(dead, lease_));
  ASSERT_TRUE(Open(dead, lease_));
  machine_.kernel.processes.Remove(kPid + 1);
  Result<OpenedDevice> first = Fail(ErrorCode::kInternal, "not called");
  agent_.loop.Spawn(Keep(agent_.attach.Open(other, lease_, "rxe0"), &first));

  const auto second = Open(peer_, lease_);

  ASSERT_TRUE(second) << second.error().message;
  EXPECT_TRUE(agent_.RunUntil([&] { return first.has_value(); }));
}

TEST_F(AttachOpenTest, ADeviceOutsideTheLeaseIsRefused) {
  const auto opened = Open(peer_, lease_, "rxe1");

  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().reason, "device_not_leased");
  EXPECT_THAT(machine_.kernel.opener.opened, IsEmpty());
}

TEST_F(AttachOpenTest, ADeviceThatIsUnpluggedIsGone) {
  machine_.kernel.opener.devices.erase("rxe0");

  const auto opened = Open(peer_, lease_);

  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().reason, "device_gone");
  EXPECT_THAT(agent_.leases.Find(lease_)->slots, IsEmpty());
}

TEST_F(AttachOpenTest, AProcessThatWasMovedAwayGetsNothing) {
  machine_.kernel.processes.Move(kPid, "/user.slice");

  EXPECT_EQ(Open(peer_, lease_).error().reason, "other_lease");
}

TEST_F(AttachOpenTest, AProcessThatIsGoneGetsNothing) {
  machine_.kernel.processes.Replace(kPid);

  EXPECT_EQ(Open(peer_, lease_).error().reason, "peer_gone");
}

TEST_F(AttachOpenTest, ALeaseThatIsUnknownOrEndedGivesNothing) {
  EXPECT_EQ(Open(peer_, "lease-none").error().reason, "other_lease");
  Revoke(lease_);

  EXPECT_EQ(Open(peer_, lease_).error().reason, "other_lease");
}

TEST_F(AttachOpenTest, ALeaseThatEndsDuringTheOpenGivesNothing) {
  // The second post runs while the pool opens the device.
  agent_.loop.Post(
      [this] { agent_.loop.Post([this] { agent_.leases.Find(lease_)->ending = true; }); });

  const auto opened = Open(peer_, lease_);

  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().reason, "not_active");
  EXPECT_THAT(agent_.leases.Find(lease_)->slots, IsEmpty());
  EXPECT_THAT(machine_.kernel.opener.opened, testing::ElementsAre("rxe0"));
}

TEST_F(AttachOpenTest, OnePastTheSlotsOfThePageIsRefused) {
  std::vector<SlotNote>& slots = agent_.leases.Find(lease_)->slots;
  agent_.leases.Find(lease_)->spec.limits[wire::Limit::kContexts] = 1U << 20;
  for (std::uint32_t i = 1; i < wire::kSlotsMax; ++i) {
    slots.push_back({.slot = i, .device = "rxe0", .opener = kPid});
  }

  const auto last = Open(peer_, lease_);
  const auto past = Open(peer_, lease_);

  ASSERT_TRUE(last) << last.error().message;
  EXPECT_EQ(last->slot, 0U);
  ASSERT_FALSE(past);
  EXPECT_EQ(past.error().reason, "slots");
}

}  // namespace
}  // namespace rb::agent
