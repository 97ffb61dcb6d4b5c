// LeaseService::Restore: an agent that died, and the one that comes after it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/control/lease_service.h"
#include "tests/support/agent_core.h"

namespace rb::agent {
namespace {

using test::RunTask;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::size_t kQps = wire::Index(wire::Limit::kQps);
constexpr OpenFile kFile{.fd = 5, .device = {.major = 231, .minor = 192}};

// A process that has everything mapped that this one has mapped.
class Child {
 public:
  Child() : pid_(::fork()) {
    if (pid_ != 0) return;
    while (true) ::pause();
  }
  ~Child() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

class LeaseRestoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto created = RunTask(agent_->loop, agent_->service.Create(test::TokenRequest()));
    ASSERT_TRUE(created) << created.error().message;
    id_ = created->id;
  }

  LeaseRecord& Lease() { return *agent_->leases.Find(id_); }
  wire::CountersPage& Page() { return *Lease().counters->page(); }

  // A process of the lease that keeps the counters page over the agent's death.
  void StartWorkload() {
    child_.emplace();
    machine_.kernel.processes.Add({.pid = child_->pid(),
                                   .uid = 1000,
                                   .start_time_ticks = 9,
                                   .cgroup = Lease().cgroup,
                                   .command = "job"});
  }

  // kill -9, and a new agent on what is left.
  void RestartAgent(bool same_boot = true) {
    agent_ = std::make_unique<test::AgentCore>(machine_);
    agent_->Restart(same_boot);
  }

  void WriteSlot(std::uint32_t slot, std::uint64_t qps, wire::SlotState state) {
    Page().slots[slot].state = static_cast<std::uint32_t>(state);
    Page().slots[slot].opener_pid = static_cast<std::uint32_t>(child_->pid());
    Page().slots[slot].used[kQps] = qps;
    Page().used[kQps] += qps;
    machine_.kernel.processes.OpenFileOf(child_->pid(), kFile);
  }

  void ShowContexts(const std::vector<std::uint32_t>& numbers) {
    auto& rows = machine_.kernel.resources.devices["rxe0"].contexts;
    rows.clear();
    for (const std::uint32_t number : numbers) {
      rows.push_back({.device = "rxe0", .ctxn = number, .creator = {.pid = child_->pid()}});
    }
  }

  void Settle() { RunTask(agent_->loop, agent_->settler.Settle(id_)); }

  std::vector<std::uint32_t> Slots() {
    std::vector<std::uint32_t> slots;
    for (const SlotNote& note : Lease().slots) slots.push_back(note.slot);
    return slots;
  }

  wire::PolicyPage Policy() const {
    const std::string bytes = machine_.tree.Read("policy/" + id_ + ".policy");
    wire::PolicyPage page{};
    EXPECT_EQ(bytes.size(), sizeof(page));
    std::memcpy(&page, bytes.data(), std::min(bytes.size(), sizeof(page)));
    return page;
  }

  test::AgentNode machine_;
  std::unique_ptr<test::AgentCore> agent_ = std::make_unique<test::AgentCore>(machine_);
  std::optional<Child> child_;
  std::string id_;
};

TEST_F(LeaseRestoreTest, AdoptsThePageThatALiveProcessHasMapped) {
  Page().retired[0].ops[1].bytes = 1000;
  StartWorkload();
  Page().retired[0].ops[1].bytes = 5000;  // counted after the last checkpoint

  RestartAgent();

  EXPECT_EQ(Lease().phase, rest::Phase::kActive);
  EXPECT_EQ(Page().retired[0].ops[1].bytes, 5000U);
  ASSERT_THAT(agent_->attachments.List(), SizeIs(1));
  EXPECT_EQ(agent_->attachments.List()[0].pid, child_->pid());
  EXPECT_EQ(agent_->attachments.List()[0].command, "job");
  EXPECT_EQ(agent_->EventsOf("lease_restored")[0].message, "1 processes taken up again");
}

TEST_F(LeaseRestoreTest, ARestoredLeaseCanBeChangedRenewedAndRevoked) {
  StartWorkload();
  const std::uint64_t generation = Policy().generation;
  RestartAgent();

  ASSERT_TRUE(
      RunTask(agent_->loop, agent_->service.Patch(id_, {}, R"({"spec":{"limits":{"qps":2}}})")));
  EXPECT_EQ(Policy().limits[kQps], 2U);
  EXPECT_GT(Policy().generation, generation);
  EXPECT_TRUE(RunTask(agent_->loop, agent_->service.Renew(id_, 60)));
  machine_.kernel.processes.Remove(child_->pid());
  EXPECT_TRUE(RunTask(agent_->loop, agent_->service.Revoke(id_, {})));
  EXPECT_EQ(Lease().phase, rest::Phase::kRevoked);
}

TEST_F(LeaseRestoreTest, WithoutAPageTheTotalsOfTheCheckpointGoOn) {
  Page().retired[0].ops[1] = {.messages = 2, .bytes = 2000};
  Page().retired[0].denials[kQps] = 7;
  Page().retired[0].throttled_ns = 11;
  agent_->settler.ReportDenials();
  ASSERT_TRUE(RunTask(agent_->loop, agent_->persistence.Save()));

  RestartAgent();

  const rest::LeaseUsage usage =
      ToBody(Lease(), "node-1", machine_.clock.Boot(), true, 0).status.usage;
  EXPECT_EQ(usage.ops.at("write").bytes, 2000U);
  EXPECT_EQ(usage.ops.at("write").messages, 2U);
  EXPECT_EQ(usage.denials[kQps], 7U);
  EXPECT_EQ(usage.throttled_ns, 11U);
  agent_->settler.ReportDenials();
  EXPECT_THAT(agent_->EventsOf("denied"), IsEmpty());  // the old agent told of them
}

TEST_F(LeaseRestoreTest, DenialsThatTheOldAgentDidNotTellOfAreTold) {
  StartWorkload();
  Page().retired[0].denials[kQps] = 7;

  RestartAgent();
  agent_->settler.ReportDenials();

  ASSERT_THAT(agent_->EventsOf("denied"), SizeIs(1));
  EXPECT_EQ(agent_->EventsOf("denied")[0].details.at("count"), "7");
}

TEST_F(LeaseRestoreTest, AfterAnotherBootTheLeaseHasFailed) {
  RestartAgent(false);

  EXPECT_EQ(Lease().phase, rest::Phase::kFailed);
  EXPECT_FALSE(Lease().counters);
  EXPECT_THAT(agent_->EventsOf("lease_failed"), SizeIs(1));
  EXPECT_EQ(agent_->OnDisk().leases[0].lease.status.phase, rest::Phase::kFailed);
}

TEST_F(LeaseRestoreTest, AnEndedLeaseStaysAsItWas) {
  ASSERT_TRUE(RunTask(agent_->loop, agent_->service.Revoke(id_, {})));

  RestartAgent(false);

  EXPECT_EQ(Lease().phase, rest::Phase::kRevoked);
  EXPECT_THAT(agent_->EventsOf("lease_failed"), IsEmpty());
}

TEST_F(LeaseRestoreTest, ARevokeThatTheOldAgentBeganIsFinished) {
  StartWorkload();
  machine_.kernel.processes.OpenFileOf(child_->pid(), kFile);
  const rest::RevokeRequest request{.grace_ms = 600'000, .reason = {}};
  ASSERT_TRUE(RunTask(agent_->loop, agent_->service.Revoke(id_, request)));
  ASSERT_TRUE(agent_->RunUntil([this] {
    const auto saved = agent_->OnDisk();
    return saved.leases.at(0).lease.status.phase == rest::Phase::kDraining;
  }));
  const std::size_t writes = machine_.kernel.cgroups.Writes().size();

  RestartAgent();
  EXPECT_TRUE(agent_->RunUntil([this] { return !Lease().live(); }));

  EXPECT_EQ(Lease().phase, rest::Phase::kRevoked);
  EXPECT_FALSE(machine_.kernel.processes.Has(child_->pid()));
  // Its limits are not given back on the way.
  const auto all = machine_.kernel.cgroups.Writes();
  for (std::size_t i = writes; i < all.size(); ++i) {
    EXPECT_EQ(all[i], "/rdma-broker/" + id_ + " rxe0 0");
  }
}

TEST_F(LeaseRestoreTest, APolicyPageThatWasHalfWrittenIsCompleted) {
  {
    std::fstream file(machine_.policy_path(id_), std::ios::in | std::ios::out | std::ios::binary);
    const std::uint64_t odd = 7;
    file.seekp(offsetof(wire::PolicyPage, generation));
    file.write(reinterpret_cast<const char*>(&odd), sizeof(odd));
    const std::uint32_t garbage = 77;
    file.seekp(offsetof(wire::PolicyPage, state));
    file.write(reinterpret_cast<const char*>(&garbage), sizeof(garbage));
  }

  RestartAgent();

  EXPECT_EQ(Policy().generation, 8U);
  EXPECT_EQ(Policy().state, static_cast<std::uint32_t>(wire::PolicyState::kActive));
  EXPECT_EQ(Policy().limits[kQps], 64U);
}

TEST_F(LeaseRestoreTest, AChangeThatWasDurableButNotAppliedIsAppliedNow) {
  rest::Checkpoint saved = agent_->OnDisk();
  saved.leases[0].lease.spec.limits[wire::Limit::kQps] = 3;
  saved.leases[0].lease.spec.limits[wire::Limit::kContexts] = 2;
  machine_.tree.Write("state/checkpoint.json", rest::DumpCheckpoint(saved));

  RestartAgent();

  EXPECT_EQ(Policy().limits[kQps], 3U);
  EXPECT_EQ(machine_.kernel.cgroups.MaxOf(Lease().cgroup, "rxe0")->hca_handles, 2U);
}

TEST_F(LeaseRestoreTest, ALeaseThatWasDurableButNotYetAnnouncedIsWholeNow) {
  rest::Checkpoint saved = agent_->OnDisk();
  saved.leases[0].lease.status.phase = rest::Phase::kPending;
  machine_.tree.Write("state/checkpoint.json", rest::DumpCheckpoint(saved));

  RestartAgent();

  EXPECT_EQ(Lease().phase, rest::Phase::kActive);
  EXPECT_TRUE(Lease().accepts_processes());
}

TEST_F(LeaseRestoreTest, ALeaseWhoseCgroupCannotBeMadeSaysSoAndAdmitsNobody) {
  machine_.kernel.cgroups.create_error =
      Error{.code = ErrorCode::kInternal, .message = "mkdir: no space"};

  RestartAgent();

  ASSERT_THAT(Lease().conditions, SizeIs(1));
  EXPECT_EQ(Lease().conditions[0].type, "not_restored");
  EXPECT_EQ(Lease().conditions[0].message, "mkdir: no space");
  EXPECT_FALSE(Lease().policy);
  EXPECT_TRUE(RunTask(agent_->loop, agent_->service.Revoke(id_, {})));
  EXPECT_EQ(Lease().phase, rest::Phase::kRevoked);
}

TEST_F(LeaseRestoreTest, ARevokeIsFinishedAlsoWithoutTheLeasesPages) {
  rest::Checkpoint saved = agent_->OnDisk();
  saved.leases[0].lease.status.phase = rest::Phase::kDraining;
  machine_.tree.Write("state/checkpoint.json", rest::DumpCheckpoint(saved));
  machine_.kernel.cgroups.create_error =
      Error{.code = ErrorCode::kInternal, .message = "mkdir: no space"};

  RestartAgent();

  EXPECT_TRUE(agent_->RunUntil([this] { return Lease().phase == rest::Phase::kRevoked; }));
}

TEST_F(LeaseRestoreTest, TheConditionsOfTheOldAgentAreForgotten) {
  rest::Checkpoint saved = agent_->OnDisk();
  saved.leases[0].lease.status.conditions = {
      {.type = "not_restored", .message = "old", .since = "2026-01-01T00:00:00Z"}};
  machine_.tree.Write("state/checkpoint.json", rest::DumpCheckpoint(saved));

  RestartAgent();

  EXPECT_THAT(Lease().conditions, IsEmpty());
}

TEST_F(LeaseRestoreTest, ALeaseThatRanOutMeanwhileExpires) {
  machine_.clock.Advance(std::chrono::hours(2));

  RestartAgent();
  agent_->service.Tick();

  EXPECT_TRUE(agent_->RunUntil([this] { return Lease().phase == rest::Phase::kExpired; }));
}

TEST_F(LeaseRestoreTest, ASlotWithOneContextIsKnownAgain) {
  StartWorkload();
  WriteSlot(4, 3, wire::SlotState::kOpen);
  ShowContexts({10});

  RestartAgent();
  EXPECT_EQ(Lease().slots.at(0).context, 10U);

  ShowContexts({});
  Settle();
  EXPECT_THAT(Slots(), IsEmpty());
  EXPECT_EQ(Page().used[kQps], 0U);
}

TEST_F(LeaseRestoreTest, WhichOfSeveralSlotsClosedIsNotGuessed) {
  // Slot 0 was opened last: its context has the higher number.
  StartWorkload();
  WriteSlot(0, 1, wire::SlotState::kOpen);
  WriteSlot(1, 2, wire::SlotState::kOpen);
  ShowContexts({11, 12});
  RestartAgent();

  Page().slots[0].used[kQps] = 0;  // the shim gives back what it closes
  Page().used[kQps] -= 1;
  Page().slots[0].state = static_cast<std::uint32_t>(wire::SlotState::kClosed);
  ShowContexts({11});
  Settle();

  EXPECT_THAT(Slots(), ElementsAre(1U));
  EXPECT_EQ(Lease().slots[0].context, 11U);
  EXPECT_EQ(Page().used[kQps], 2U);  // of the living slot
}

TEST_F(LeaseRestoreTest, APageWithSlotsOfOtherDevicesIsReadWithCare) {
  StartWorkload();
  WriteSlot(0, 1, wire::SlotState::kOpen);
  Page().slots[0].device_index = 15;  // the lease has one device

  RestartAgent();

  EXPECT_THAT(Slots(), IsEmpty());
}

TEST_F(LeaseRestoreTest, WhatADeadProcessHeldIsGivenBack) {
  StartWorkload();
  WriteSlot(0, 1, wire::SlotState::kOpen);
  WriteSlot(1, 2, wire::SlotState::kOpen);
  ShowContexts({11, 12});
  RestartAgent();

  machine_.kernel.processes.Remove(child_->pid());
  ShowContexts({});
  Settle();

  EXPECT_THAT(Slots(), IsEmpty());
  EXPECT_EQ(Page().used[kQps], 0U);
}

}  // namespace
}  // namespace rb::agent
