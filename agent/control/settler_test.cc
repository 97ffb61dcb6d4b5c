#include "agent/control/settler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/agent_core.h"

namespace rb::agent {
namespace {

using test::RunTask;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr pid_t kPid = 4242;
constexpr std::size_t kQps = wire::Index(wire::Limit::kQps);
constexpr OpenFile kFile{.fd = 5, .device = {.major = 231, .minor = 192}};

class SettlerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto created = RunTask(agent_.loop, agent_.service.Create(test::TokenRequest()));
    ASSERT_TRUE(created);
    id_ = created->id;
    machine_.kernel.processes.Add({.pid = kPid, .cgroup = Lease().cgroup, .command = "job"});
  }

  LeaseRecord& Lease() { return *agent_.leases.Find(id_); }
  wire::CountersPage& Page() { return *Lease().counters->page(); }

  // A file that the process opened, whose objects it has charged.
  void AddSlot(std::uint32_t slot, std::uint64_t qps) {
    Page().slots[slot].state = static_cast<std::uint32_t>(wire::SlotState::kOpen);
    Page().slots[slot].used[kQps] = qps;
    Page().used[kQps] += qps;
    Lease().slots.push_back({.slot = slot, .device = "rxe0", .opener = kPid});
    machine_.kernel.processes.OpenFileOf(kPid, kFile);
  }

  void ShowContexts(const std::vector<std::uint32_t>& numbers) {
    auto& rows = machine_.kernel.resources.devices["rxe0"].contexts;
    rows.clear();
    for (const std::uint32_t number : numbers) {
      rows.push_back({.device = "rxe0", .ctxn = number, .creator = {.pid = kPid}});
    }
  }

  Task<void> CountSlotsAfterOther(std::size_t* count) {
    co_await agent_.settler.WaitForOther(id_);
    *count = Lease().slots.size();
  }

  void Settle() { RunTask(agent_.loop, agent_.settler.Settle(id_)); }

  test::AgentNode machine_;
  test::AgentCore agent_{machine_};
  std::string id_;
};

TEST_F(SettlerTest, LearnsContextsAndGivesBackThoseThatAreGone) {
  AddSlot(0, 3);
  AddSlot(1, 2);
  ShowContexts({10, 11});
  Settle();
  ASSERT_EQ(Lease().slots.size(), 2U);
  EXPECT_EQ(Lease().slots[0].context, 10U);

  ShowContexts({11});
  Settle();

  ASSERT_EQ(Lease().slots.size(), 1U);
  EXPECT_EQ(Lease().slots[0].slot, 1U);
  EXPECT_EQ(Page().used[kQps], 2U);
  EXPECT_EQ(Page().slots[0].state, static_cast<std::uint32_t>(wire::SlotState::kFree));
}

TEST_F(SettlerTest, AFileWithoutAContextIsOpenWhileItsOpenerLives) {
  AddSlot(0, 0);

  Settle();

  EXPECT_EQ(Lease().slots.size(), 1U);
}

TEST_F(SettlerTest, WhatADeadProcessHeldIsGivenBackAlthoughAnotherUsesTheDevice) {
  AddSlot(0, 3);
  constexpr pid_t kSibling = kPid + 1;
  machine_.kernel.processes.Add({.pid = kSibling, .cgroup = Lease().cgroup, .command = "job"});
  machine_.kernel.processes.OpenFileOf(kSibling, kFile);
  Lease().slots.push_back({.slot = 1, .device = "rxe0", .opener = kSibling});
  machine_.kernel.processes.Remove(kPid);
  machine_.kernel.resources.devices["rxe0"].contexts = {
      {.device = "rxe0", .ctxn = 4, .creator = {.pid = kSibling}}};

  Settle();

  ASSERT_EQ(Lease().slots.size(), 1U);
  EXPECT_EQ(Lease().slots[0].slot, 1U);
  EXPECT_EQ(Page().used[kQps], 0U);
}

TEST_F(SettlerTest, WhatTheShimSaysIsClosedIsFreed) {
  AddSlot(0, 0);
  Page().slots[0].state = static_cast<std::uint32_t>(wire::SlotState::kClosed);

  Settle();

  EXPECT_THAT(Lease().slots, IsEmpty());
}

TEST_F(SettlerTest, AnUnpluggedDeviceTakesItsContextsWithIt) {
  AddSlot(0, 3);
  ShowContexts({10});
  Settle();

  machine_.kernel.resources.devices.erase("rxe0");
  Settle();

  EXPECT_THAT(Lease().slots, IsEmpty());
  EXPECT_EQ(Page().used[kQps], 0U);
}

TEST_F(SettlerTest, OneLookAtATime) {
  AddSlot(0, 3);
  // Two looks at once, of which the second sees a slot that came after the first began.
  agent_.loop.Spawn(agent_.settler.Settle(id_));
  agent_.loop.Spawn(agent_.settler.Settle(id_));
  machine_.kernel.processes.Remove(kPid);

  RunTask(agent_.loop, agent_.settler.WaitForOther(id_));
  EXPECT_TRUE(agent_.RunUntil([this] { return Lease().slots.empty(); }));

  EXPECT_EQ(Page().used[kQps], 0U);  // given back once: twice would wrap
}

TEST_F(SettlerTest, WaitsForTheLookThatIsUnderWay) {
  AddSlot(0, 3);
  machine_.kernel.processes.Remove(kPid);
  std::size_t left = 99;
  // Posted behind the look's start, before its end.
  agent_.loop.Spawn(agent_.settler.Settle(id_));
  agent_.loop.Spawn(CountSlotsAfterOther(&left));

  EXPECT_TRUE(agent_.RunUntil([&] { return left != 99; }));

  EXPECT_EQ(left, 0U);
}

TEST_F(SettlerTest, ALeaseThatEndsDuringTheLookIsLeftAlone) {
  AddSlot(0, 3);
  machine_.kernel.processes.Remove(kPid);
  // Posted behind the look's start, before its end.
  agent_.loop.Spawn(agent_.settler.Settle(id_));
  agent_.loop.Post([this] { Lease().counters.reset(); });

  RunTask(agent_.loop, SleepFor(agent_.loop, std::chrono::milliseconds(20)));

  EXPECT_FALSE(Lease().counters);
  EXPECT_EQ(Lease().slots.size(), 1U);
}

TEST_F(SettlerTest, UnknownLeasesAndThoseWithoutFilesNeedNoLook) {
  RunTask(agent_.loop, agent_.settler.Settle("lease-none"));
  Settle();

  EXPECT_THAT(Lease().slots, IsEmpty());
}

TEST_F(SettlerTest, ARefusalThatAProcessCountedIsReportedOnceWithItsFigures) {
  AddSlot(0, 0);
  Page().slots[0].denials[kQps] = 3;
  Page().last_refusal[kQps] = {.used = 64, .asked = 1, .pid = 77};

  agent_.settler.ReportDenials();
  agent_.settler.ReportDenials();

  const auto denied = agent_.EventsOf("denied");
  ASSERT_EQ(denied.size(), 1U);
  EXPECT_EQ(denied[0].reason, "limit_qps");
  EXPECT_EQ(denied[0].lease, id_);
  EXPECT_EQ(denied[0].tenant, "red");
  EXPECT_EQ(denied[0].message, "queue pairs: used 64, asked 1 more, allowed 64");
  EXPECT_EQ(denied[0].details.at("count"), "3");
  EXPECT_EQ(denied[0].details.at("pid"), "77");
  EXPECT_THAT(agent_.metrics.Text(), HasSubstr(R"(denials_total{limit="qps",tenant="red"} 3)"));
}

TEST_F(SettlerTest, DenialsOfASlotThatWasSettledAreNotReportedTwice) {
  AddSlot(0, 0);
  Page().slots[0].denials[kQps] = 3;
  agent_.settler.ReportDenials();
  machine_.kernel.processes.Remove(kPid);
  Settle();

  agent_.settler.ReportDenials();

  EXPECT_EQ(agent_.EventsOf("denied").size(), 1U);
}

TEST_F(SettlerTest, TheAgentsOwnRefusalsAreCountedLikeThoseOfProcesses) {
  Settler::CountRefusal(Lease(), wire::Limit::kContexts, 4, kPid);
  Settler::CountRefusal(Lease(), wire::Limit::kContexts, 4, kPid);

  agent_.settler.ReportDenials();

  const auto denied = agent_.EventsOf("denied");
  ASSERT_EQ(denied.size(), 1U);
  EXPECT_EQ(denied[0].reason, "limit_contexts");
  EXPECT_EQ(denied[0].details.at("count"), "2");
}

}  // namespace
}  // namespace rb::agent
