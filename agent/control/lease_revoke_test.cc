// LeaseService::Revoke and what every end of a lease has in common.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "agent/control/lease_service.h"
#include "common/runtime/process.h"
#include "tests/support/agent_core.h"

namespace rb::agent {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::Keep;
using test::RunTask;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr pid_t kPid = 4242;
constexpr OpenFile kFile{.fd = 5, .device = {.major = 231, .minor = 192}};
constexpr std::uint64_t kLongGraceMs = 600'000;

class LeaseRevokeTest : public ::testing::Test {
 protected:
  void SetUp() override { id_ = CreateId(test::TokenRequest()); }

  std::string CreateId(rest::LeaseRequest request) {
    const auto created = RunTask(agent_.loop, agent_.service.Create(std::move(request)));
    EXPECT_TRUE(created) << created.error().message;
    return created ? created->id : "";
  }

  Result<void> Revoke(std::uint64_t grace_ms = 0, std::string reason = {}) {
    const rest::RevokeRequest request{.grace_ms = grace_ms, .reason = std::move(reason)};
    return RunTask(agent_.loop, agent_.service.Revoke(id_, request));
  }

  const LeaseRecord& Lease() { return *agent_.leases.Find(id_); }

  std::uint32_t PolicyState() const {
    const std::string bytes = machine_.tree.Read("policy/" + id_ + ".policy");
    wire::PolicyPage page{};
    std::memcpy(&page, bytes.data(), std::min(bytes.size(), sizeof(page)));
    return page.state;
  }

  // A process of the lease with one file open, which it closes when its objects are taken.
  void AddProcess(bool is_polite) {
    machine_.kernel.processes.Add(
        {.pid = kPid, .start_time_ticks = 1, .cgroup = Lease().cgroup, .command = "ib_write_bw"});
    machine_.kernel.processes.OpenFileOf(kPid, kFile);
    machine_.kernel.cgroups.Charge(Lease().cgroup, "rxe0", 1);
    machine_.kernel.processes.on_take = [this, is_polite](pid_t pid, const OpenFile&, int taken) {
      machine_.kernel.uverbs.files[taken].clear();
      machine_.kernel.uverbs.Add(taken, rdma::kPd);
      machine_.kernel.uverbs.Add(taken, rdma::kQp);
      if (is_polite) Close(pid);
    };
    machine_.kernel.cgroups.on_kill = [this](const std::string& path) {
      if (machine_.kernel.processes.In(path).empty()) {
        machine_.kernel.cgroups.Charge(path, "rxe0", 0);
      }
    };
  }

  void Close(pid_t pid) {
    machine_.kernel.processes.CloseFilesOf(pid);
    machine_.kernel.cgroups.Charge("/rdma-broker/" + id_, "rxe0", 0);
  }

  test::AgentNode machine_;
  test::AgentCore agent_{machine_};
  std::string id_;
};

TEST_F(LeaseRevokeTest, ALeaseWithoutProcessesEndsAtOnceAndLeavesOnlyItsRecord) {
  const std::string cgroup = Lease().cgroup;

  ASSERT_TRUE(Revoke());

  EXPECT_EQ(Lease().phase, rest::Phase::kRevoked);
  EXPECT_FALSE(Lease().counters);
  EXPECT_FALSE(Lease().policy);
  EXPECT_FALSE(machine_.kernel.cgroups.Has(cgroup));
  EXPECT_FALSE(machine_.tree.Exists("policy/" + id_ + ".policy"));
  EXPECT_EQ(agent_.OnDisk().leases[0].lease.status.phase, rest::Phase::kRevoked);
  EXPECT_EQ(agent_.EventsOf("lease_revoked").size(), 1U);
  EXPECT_THAT(agent_.EventsOf("objects_taken_back"), IsEmpty());
}

TEST_F(LeaseRevokeTest, TheReasonReleasedIsItsOwnEnd) {
  ASSERT_TRUE(Revoke(0, "released"));

  EXPECT_EQ(Lease().phase, rest::Phase::kReleased);
  EXPECT_EQ(agent_.EventsOf("lease_released").size(), 1U);
}

TEST_F(LeaseRevokeTest, ObjectsOfAPoliteProcessAreTakenBackAndItLives) {
  AddProcess(true);

  ASSERT_TRUE(Revoke());

  EXPECT_TRUE(machine_.kernel.processes.Has(kPid));
  EXPECT_THAT(machine_.kernel.uverbs.journal,
              testing::ElementsAre("error qp 2", "destroy qp 2", "destroy pd 1"));
  const auto taken = agent_.EventsOf("objects_taken_back");
  ASSERT_EQ(taken.size(), 1U);
  EXPECT_EQ(taken[0].message, "1 queue pairs stopped, 2 objects destroyed");
}

TEST_F(LeaseRevokeTest, AProcessThatHoldsOnIsKilled) {
  AddProcess(false);

  ASSERT_TRUE(Revoke());

  EXPECT_FALSE(machine_.kernel.processes.Has(kPid));
  EXPECT_EQ(Lease().phase, rest::Phase::kRevoked);
  EXPECT_THAT(agent_.EventsOf("objects_taken_back")[0].message, HasSubstr("processes killed"));
}

TEST_F(LeaseRevokeTest, WhatCannotBeTakenIsSaidAndTriedAgain) {
  AddProcess(false);
  machine_.kernel.cgroups.unkillable = {kPid};

  ASSERT_TRUE(Revoke());

  EXPECT_EQ(Lease().phase, rest::Phase::kDraining);
  ASSERT_EQ(Lease().conditions.size(), 1U);
  EXPECT_EQ(Lease().conditions[0].type, "irrevocable");
  EXPECT_FALSE(Lease().conditions[0].message.empty());
  EXPECT_EQ(agent_.EventsOf("revoke_incomplete").size(), 1U);

  machine_.kernel.processes.Remove(kPid);
  machine_.kernel.cgroups.Charge(Lease().cgroup, "rxe0", 0);
  EXPECT_TRUE(agent_.RunUntil([this] { return Lease().phase == rest::Phase::kRevoked; }));
  EXPECT_THAT(Lease().conditions, IsEmpty());
}

TEST_F(LeaseRevokeTest, ALeaseThatStaysIrrevocableDoesNotFillTheEventLog) {
  AddProcess(false);
  machine_.kernel.cgroups.unkillable = {kPid};
  ASSERT_TRUE(Revoke());
  const std::size_t writes = machine_.kernel.cgroups.Writes().size();

  ASSERT_TRUE(agent_.RunUntil(
      [&] { return machine_.kernel.cgroups.Writes().size() >= writes + 2; }));  // two more attempts

  EXPECT_EQ(agent_.EventsOf("revoke_incomplete").size(), 1U);
}

TEST_F(LeaseRevokeTest, GraceDrainsFirst) {
  AddProcess(true);

  ASSERT_TRUE(Revoke(30));

  EXPECT_TRUE(agent_.RunUntil([this] { return Lease().phase == rest::Phase::kDraining; }));
  EXPECT_EQ(PolicyState(), static_cast<std::uint32_t>(wire::PolicyState::kDraining));
  EXPECT_EQ(agent_.EventsOf("lease_draining").size(), 1U);
  EXPECT_THAT(machine_.kernel.uverbs.journal, IsEmpty());
  EXPECT_FALSE(Lease().accepts_processes());
  EXPECT_TRUE(agent_.RunUntil([this] { return Lease().phase == rest::Phase::kRevoked; }));
  EXPECT_THAT(machine_.kernel.uverbs.journal, testing::SizeIs(3));
}

TEST_F(LeaseRevokeTest, ASecondRevokeWithoutGraceEndsTheGraceOfTheFirst) {
  ASSERT_TRUE(Revoke(kLongGraceMs));
  ASSERT_TRUE(agent_.RunUntil([this] { return Lease().phase == rest::Phase::kDraining; }));

  ASSERT_TRUE(Revoke());

  EXPECT_EQ(Lease().phase, rest::Phase::kRevoked);
  EXPECT_EQ(agent_.EventsOf("lease_revoked").size(), 1U);
}

TEST_F(LeaseRevokeTest, ASecondRevokeDoesNotLengthenTheGrace) {
  ASSERT_TRUE(Revoke(20));

  ASSERT_TRUE(Revoke(kLongGraceMs));

  EXPECT_TRUE(agent_.RunUntil([this] { return Lease().phase == rest::Phase::kRevoked; }));
}

TEST_F(LeaseRevokeTest, TwoRevokesAtOnceEndTheLeaseOnce) {
  Result<void> first = Fail(ErrorCode::kInternal, "not called");
  agent_.loop.Spawn(Keep(agent_.service.Revoke(id_, {}), &first));

  const auto second = Revoke();

  EXPECT_TRUE(second);
  EXPECT_TRUE(agent_.RunUntil([&] { return first.has_value(); }));
  EXPECT_EQ(agent_.EventsOf("lease_revoked").size(), 1U);
}

TEST_F(LeaseRevokeTest, RevokingAnEndedLeaseChangesNothing) {
  ASSERT_TRUE(Revoke());
  const std::uint64_t revision = Lease().metadata.revision;

  EXPECT_TRUE(Revoke(0, "released"));

  EXPECT_EQ(Lease().phase, rest::Phase::kRevoked);
  EXPECT_EQ(Lease().metadata.revision, revision);
}

TEST_F(LeaseRevokeTest, AnUnknownLeaseIsNotFound) {
  id_ = "lease-none";

  EXPECT_EQ(Revoke().error().code, ErrorCode::kNotFound);
}

TEST_F(LeaseRevokeTest, ADiskThatFailsDoesNotStopARevoke) {
  machine_.BreakDisk();

  ASSERT_TRUE(Revoke());

  EXPECT_EQ(Lease().phase, rest::Phase::kRevoked);
}

TEST_F(LeaseRevokeTest, AnExpiredLeaseThatIsBeingRevokedEndsOnce) {
  ASSERT_TRUE(Revoke(20));
  machine_.clock.Advance(seconds(3600));

  agent_.service.Tick();

  EXPECT_TRUE(agent_.RunUntil([this] { return !Lease().live(); }));
  EXPECT_EQ(Lease().phase, rest::Phase::kRevoked);
  EXPECT_THAT(agent_.EventsOf("lease_expired"), IsEmpty());
}

TEST_F(LeaseRevokeTest, AProcessWithoutDeviceFilesSurvivesAndKeepsTheCgroup) {
  const std::string cgroup = Lease().cgroup;
  machine_.kernel.processes.Add({.pid = kPid, .cgroup = cgroup, .command = "sh"});

  ASSERT_TRUE(Revoke());

  EXPECT_TRUE(machine_.kernel.processes.Has(kPid));
  EXPECT_TRUE(machine_.kernel.cgroups.Has(cgroup));
  machine_.kernel.processes.Remove(kPid);
  agent_.service.Tick();
  EXPECT_TRUE(agent_.RunUntil([&] { return !machine_.kernel.cgroups.Has(cgroup); }));
}

TEST_F(LeaseRevokeTest, ProcessesOfACgroupThatIsNotTheAgentsMayHoldNothingAfter) {
  machine_.kernel.cgroups.Add("/pods/pod1");
  machine_.kernel.processes.Add({.pid = kPid, .cgroup = "/pods/pod1", .command = "sh"});
  id_ = CreateId(test::CgroupRequest("/pods/pod1"));

  ASSERT_TRUE(Revoke());

  EXPECT_TRUE(machine_.kernel.processes.Has(kPid));
  const RdmaMax nothing{.hca_handles = 0, .hca_objects = 0};
  EXPECT_EQ(machine_.kernel.cgroups.MaxOf("/pods/pod1", "rxe0"), nothing);
}

TEST_F(LeaseRevokeTest, AnEmptyCgroupThatIsNotTheAgentsIsLeftWithoutLimits) {
  machine_.kernel.cgroups.Add("/pods/pod1");
  id_ = CreateId(test::CgroupRequest("/pods/pod1"));

  ASSERT_TRUE(Revoke());

  EXPECT_TRUE(machine_.kernel.cgroups.Has("/pods/pod1"));
  EXPECT_EQ(machine_.kernel.cgroups.MaxOf("/pods/pod1", "rxe0"), RdmaMax{});
}

TEST_F(LeaseRevokeTest, TheBooksAreClosedWithWhatWasCounted) {
  wire::CountersPage* page = Lease().counters->page();
  wire::CounterSlot& slot = page->slots[3];
  slot.state = static_cast<std::uint32_t>(wire::SlotState::kOpen);
  slot.ops[1] = {.messages = 2, .bytes = 2000};
  slot.denials[wire::Index(wire::Limit::kQps)] = 7;
  slot.used[wire::Index(wire::Limit::kQps)] = 4;
  page->used[wire::Index(wire::Limit::kQps)] = 4;
  agent_.leases.Find(id_)->slots.push_back({.slot = 3, .device = "rxe0", .opener = kPid});

  ASSERT_TRUE(Revoke());

  const rest::LeaseUsage& usage = Lease().settled;
  EXPECT_EQ(usage.ops.at("write").bytes, 2000U);
  EXPECT_EQ(usage.denials[wire::Index(wire::Limit::kQps)], 7U);
  EXPECT_EQ(usage.used[wire::Index(wire::Limit::kQps)], 0U);
  EXPECT_EQ(agent_.ended_traffic.by_tenant_and_device().at({"red", "rxe0"}).ops[1].bytes, 2000U);
  const auto denied = agent_.EventsOf("denied");
  ASSERT_EQ(denied.size(), 1U);
  EXPECT_EQ(denied[0].details.at("count"), "7");
}

TEST_F(LeaseRevokeTest, WhatALeaseCountedNeverGoesDown) {
  const auto bytes = [this] {
    const rest::Lease body = ToBody(Lease(), "node-1", machine_.clock.Boot(), true, 0);
    const auto op = body.status.usage.ops.find("write");
    return op == body.status.usage.ops.end() ? 0 : op->second.bytes;
  };
  Lease().counters->page()->slots[0].state = static_cast<std::uint32_t>(wire::SlotState::kOpen);
  Lease().counters->page()->slots[0].ops[1].bytes = 100;
  agent_.leases.Find(id_)->slots.push_back({.slot = 0, .device = "rxe0", .opener = kPid});
  std::vector<std::uint64_t> seen{bytes()};

  agent_.on_snapshot = [&] { seen.push_back(bytes()); };
  ASSERT_TRUE(Revoke());
  seen.push_back(bytes());

  EXPECT_THAT(seen, testing::ElementsAre(100, 100, 100));
}

TEST_F(LeaseRevokeTest, AnEndedLeaseHasNoAttachments) {
  Attachment attachment;
  attachment.lease = id_;
  agent_.attachments.Add(attachment, OpenPidfd(::getpid()).value());

  ASSERT_TRUE(Revoke());

  EXPECT_EQ(agent_.attachments.CountOf(id_), 0U);
}

TEST_F(LeaseRevokeTest, OldEndedLeasesAreForgotten) {
  for (std::size_t i = 0; i < kEndedLeasesMax; ++i) {
    LeaseRecord record;
    record.metadata.name = "lease-" + std::to_string(i);
    record.metadata.created_at = "2025-01-01T00:00:00Z";
    record.phase = rest::Phase::kExpired;
    agent_.leases.Insert(std::move(record));
  }

  ASSERT_TRUE(Revoke());

  EXPECT_EQ(agent_.leases.All().size(), kEndedLeasesMax);
  EXPECT_EQ(agent_.leases.Find("lease-0"), nullptr);
  EXPECT_NE(agent_.leases.Find(id_), nullptr);
}

}  // namespace
}  // namespace rb::agent
