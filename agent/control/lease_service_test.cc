#include "agent/control/lease_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "common/runtime/digest.h"
#include "tests/support/agent_core.h"

namespace rb::agent {
namespace {

using std::chrono::seconds;
using test::CgroupRequest;
using test::Keep;
using test::RunTask;
using test::TokenRequest;
using test::UidRequest;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr std::uint64_t kTtl = 3600;

class LeaseServiceTest : public ::testing::Test {
 protected:
  Result<CreatedLease> Create(rest::LeaseRequest request) {
    return RunTask(agent_.loop, agent_.service.Create(std::move(request)));
  }

  std::string CreateId(rest::LeaseRequest request = TokenRequest()) {
    const auto created = Create(std::move(request));
    EXPECT_TRUE(created) << created.error().message;
    return created ? created->id : "";
  }

  Result<void> Patch(const std::string& id, const std::string& patch,
                     std::optional<std::uint64_t> revision = {}) {
    return RunTask(agent_.loop, agent_.service.Patch(id, revision, patch));
  }

  Result<void> Renew(const std::string& id, std::uint64_t ttl_seconds) {
    return RunTask(agent_.loop, agent_.service.Renew(id, ttl_seconds));
  }

  const LeaseRecord& Lease(const std::string& id) { return *agent_.leases.Find(id); }

  wire::PolicyPage Policy(const std::string& id) const {
    const std::string bytes = machine_.tree.Read("policy/" + id + ".policy");
    wire::PolicyPage page{};
    EXPECT_EQ(bytes.size(), sizeof(page));
    std::memcpy(&page, bytes.data(), std::min(bytes.size(), sizeof(page)));
    return page;
  }

  // Nothing of any lease: not in the table, on disk, in the kernel.
  void ExpectNothingLeft() {
    EXPECT_THAT(agent_.leases.All(), IsEmpty());
    EXPECT_THAT(machine_.kernel.cgroups.Paths(), IsEmpty());
    EXPECT_TRUE(std::filesystem::is_empty(machine_.tree.Path("policy")));
    EXPECT_THAT(agent_.EventsOf("lease_created"), IsEmpty());
    EXPECT_THAT(agent_.OnDisk().leases, IsEmpty());
  }

  test::AgentNode machine_;
  test::AgentCore agent_{machine_};
};

TEST_F(LeaseServiceTest, CreateMakesALeaseThatIsActiveDurableAndInTheKernel) {
  const auto created = Create(TokenRequest());

  ASSERT_TRUE(created) << created.error().message;
  const LeaseRecord& lease = Lease(created->id);
  EXPECT_EQ(lease.phase, rest::Phase::kActive);
  EXPECT_EQ(lease.cgroup, "/rdma-broker/" + created->id);
  const RdmaMax wanted{.hca_handles = 4, .hca_objects = {}};
  EXPECT_EQ(machine_.kernel.cgroups.MaxOf(lease.cgroup, "rxe0"), wanted);
  ASSERT_EQ(agent_.OnDisk().leases.size(), 1U);
  EXPECT_EQ(agent_.OnDisk().leases[0].lease.metadata.name, created->id);
  EXPECT_EQ(agent_.EventsOf("lease_created").size(), 1U);
  const wire::PolicyPage policy = Policy(created->id);
  EXPECT_EQ(policy.state, static_cast<std::uint32_t>(wire::PolicyState::kActive));
  EXPECT_EQ(policy.generation % 2, 0U);
}

TEST_F(LeaseServiceTest, TheTokenIsShownOnceAndKeptAsADigest) {
  const auto created = Create(TokenRequest());

  ASSERT_TRUE(created);
  EXPECT_THAT(created->token, StartsWith("rbl_"));
  EXPECT_EQ(Lease(created->id).token_hash, Sha256Hex(created->token));
  EXPECT_THAT(machine_.tree.Read("state/checkpoint.json"), Not(HasSubstr(created->token)));
}

TEST_F(LeaseServiceTest, ALeaseForAUserHasNoToken) {
  const auto created = Create(UidRequest(1000));

  ASSERT_TRUE(created);
  EXPECT_EQ(created->token, "");
  EXPECT_EQ(Lease(created->id).token_hash, "");
}

TEST_F(LeaseServiceTest, ALeaseOnACgroupUsesTheOneThatIsThere) {
  machine_.kernel.cgroups.Add("/pods/pod1");

  const auto created = Create(CgroupRequest("/pods/pod1"));

  ASSERT_TRUE(created) << created.error().message;
  EXPECT_EQ(Lease(created->id).cgroup, "/pods/pod1");
  EXPECT_TRUE(machine_.kernel.cgroups.MaxOf("/pods/pod1", "rxe0"));
}

TEST_F(LeaseServiceTest, ACgroupThatIsNotThereIsRefusedAndLeavesNothing) {
  const auto created = Create(CgroupRequest("/pods/none"));

  ASSERT_FALSE(created);
  EXPECT_EQ(created.error().code, ErrorCode::kNotFound);
  ExpectNothingLeft();
}

TEST_F(LeaseServiceTest, WhatAdmissionRefusesLeavesNothing) {
  rest::LeaseRequest request = TokenRequest();
  request.spec.devices.names = {"mlx5_0"};

  const auto created = Create(request);

  ASSERT_FALSE(created);
  EXPECT_EQ(created.error().reason, "no_device");
  ExpectNothingLeft();
}

TEST_F(LeaseServiceTest, ACgroupOfTheAgentIsRefused) {
  NodeTraits traits{.name = "node-1", .classes = {}};
  traits.reserved_cgroups = {"/rdma-broker"};
  test::AgentCore agent(machine_, traits);
  machine_.kernel.cgroups.Add("/rdma-broker");

  const auto created =
      RunTask(agent.loop, agent.service.Create(CgroupRequest("/rdma-broker/lease-1")));

  ASSERT_FALSE(created);
  EXPECT_EQ(created.error().reason, "semantic");
  EXPECT_THAT(created.error().message, HasSubstr("/rdma-broker"));
}

TEST_F(LeaseServiceTest, RefusesOnePastTheMostLeases) {
  for (std::size_t i = 0; i < kLiveLeasesMax - 1; ++i) {
    LeaseRecord record;
    record.metadata.name = "lease-" + std::to_string(i);
    record.phase = rest::Phase::kActive;
    agent_.leases.Insert(std::move(record));
  }

  const auto last = Create(TokenRequest());
  const auto past = Create(TokenRequest("blue"));

  EXPECT_TRUE(last);
  ASSERT_FALSE(past);
  EXPECT_EQ(past.error().reason, "leases_max");
}

TEST_F(LeaseServiceTest, ADiskThatFailsLeavesNothingOfANewLease) {
  machine_.BreakDisk();

  const auto created = Create(TokenRequest());

  ASSERT_FALSE(created);
  machine_.RepairDisk();
  ExpectNothingLeft();
}

TEST_F(LeaseServiceTest, ADiskThatFailsLeavesNoRightsToProcessesOfACgroupThatWasThere) {
  machine_.kernel.cgroups.Add("/pods/pod1");
  machine_.kernel.processes.Add({.pid = 4242, .cgroup = "/pods/pod1", .command = "job"});
  machine_.BreakDisk();

  const auto created = Create(CgroupRequest("/pods/pod1"));

  ASSERT_FALSE(created);
  EXPECT_TRUE(machine_.kernel.cgroups.Has("/pods/pod1"));
  const RdmaMax nothing{.hca_handles = 0, .hca_objects = 0};
  EXPECT_EQ(machine_.kernel.cgroups.MaxOf("/pods/pod1", "rxe0"), nothing);
}

TEST_F(LeaseServiceTest, ACgroupThatCannotBeMadeLeavesNothing) {
  machine_.kernel.cgroups.create_error =
      Error{.code = ErrorCode::kInternal, .message = "mkdir: no space"};

  const auto created = Create(TokenRequest());

  ASSERT_FALSE(created);
  EXPECT_EQ(created.error().message, "mkdir: no space");
  ExpectNothingLeft();
}

TEST_F(LeaseServiceTest, APageThatCannotBeMadeLeavesNothing) {
  std::filesystem::remove(machine_.tree.Path("policy"));

  const auto created = Create(TokenRequest());

  ASSERT_FALSE(created);
  std::filesystem::create_directory(machine_.tree.Path("policy"));
  ExpectNothingLeft();
}

TEST_F(LeaseServiceTest, ALeaseAdmitsNobodyBeforeItIsDurable) {
  std::vector<bool> accepted;
  agent_.on_snapshot = [&] {
    for (const LeaseRecord* lease : agent_.leases.All()) {
      accepted.push_back(lease->accepts_processes());
    }
  };

  CreateId();

  EXPECT_THAT(accepted, testing::ElementsAre(false));
}

TEST_F(LeaseServiceTest, ARevokeDuringCreationWaitsForItsEnd) {
  Result<void> revoked = Fail(ErrorCode::kInternal, "not called");
  agent_.on_snapshot = [&] {
    const std::string id = agent_.leases.All().front()->id();
    agent_.loop.Spawn(Keep(agent_.service.Revoke(id, {}), &revoked));
  };

  const auto created = Create(TokenRequest());

  ASSERT_TRUE(created);
  EXPECT_TRUE(agent_.RunUntil([&] { return revoked.has_value(); }));
  EXPECT_EQ(Lease(created->id).phase, rest::Phase::kRevoked);
  EXPECT_FALSE(machine_.kernel.cgroups.Has("/rdma-broker/" + created->id));
}

TEST_F(LeaseServiceTest, ARevokeDuringACreationThatFailsFindsNothing) {
  Result<void> revoked;
  agent_.on_snapshot = [&] {
    const std::string id = agent_.leases.All().front()->id();
    agent_.loop.Spawn(Keep(agent_.service.Revoke(id, {}), &revoked));
    machine_.BreakDisk();
  };

  const auto created = Create(TokenRequest());

  ASSERT_FALSE(created);
  EXPECT_TRUE(agent_.RunUntil([&] { return !revoked.has_value(); }));
  EXPECT_EQ(revoked.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(agent_.leases.All(), IsEmpty());
}

TEST_F(LeaseServiceTest, PatchChangesThePageTheKernelAndTheDisk) {
  const std::string id = CreateId();
  const wire::PolicyPage before = Policy(id);

  const auto patched = Patch(id, R"({"spec":{"limits":{"qps":2,"contexts":1}}})");

  ASSERT_TRUE(patched) << patched.error().message;
  const wire::PolicyPage after = Policy(id);
  EXPECT_EQ(after.limits[wire::Index(wire::Limit::kQps)], 2U);
  EXPECT_GT(after.generation, before.generation);
  EXPECT_EQ(after.generation % 2, 0U);
  EXPECT_EQ(machine_.kernel.cgroups.MaxOf(Lease(id).cgroup, "rxe0")->hca_handles, 1U);
  EXPECT_EQ(agent_.OnDisk().leases[0].lease.spec.limits[wire::Limit::kQps], 2U);
  EXPECT_EQ(agent_.EventsOf("lease_changed").size(), 1U);
}

TEST_F(LeaseServiceTest, PatchGivesATrafficClass) {
  const std::string id = CreateId();

  ASSERT_TRUE(Patch(id, R"({"spec":{"traffic_class":"gold"}})"));

  EXPECT_EQ(Policy(id).traffic_class, 26 << 2);
  EXPECT_EQ(Policy(id).sl, 3);
}

TEST_F(LeaseServiceTest, PatchOfAnotherRevisionIsStaleAndChangesNothing) {
  const std::string id = CreateId();
  const std::uint64_t known = Lease(id).metadata.revision;
  ASSERT_TRUE(Patch(id, R"({"spec":{"limits":{"qps":3}}})", known));

  const auto again = Patch(id, R"({"spec":{"limits":{"qps":4}}})", known);

  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, ErrorCode::kStale);
  EXPECT_EQ(Policy(id).limits[wire::Index(wire::Limit::kQps)], 3U);
}

TEST_F(LeaseServiceTest, PatchOfWhatIsFixedIsRefused) {
  const std::string id = CreateId();

  const auto patched = Patch(id, R"({"spec":{"tenant":"blue"}})");

  ASSERT_FALSE(patched);
  EXPECT_EQ(patched.error().reason, "immutable");
  EXPECT_EQ(Lease(id).spec.tenant, "red");
}

TEST_F(LeaseServiceTest, PatchThatIsNoPatchIsRefused) {
  const std::string id = CreateId();

  EXPECT_EQ(Patch(id, "{").error().code, ErrorCode::kInvalid);
  EXPECT_EQ(Patch(id, R"({"spec":{"limits":{"qps":-1}}})").error().code, ErrorCode::kInvalid);
  EXPECT_EQ(Patch("lease-none", "{}").error().code, ErrorCode::kNotFound);
}

TEST_F(LeaseServiceTest, ADiskThatFailsLeavesTheLeaseAsItWas) {
  const std::string id = CreateId();
  const LeaseRecord& lease = Lease(id);
  const rest::LeaseSpec spec = lease.spec;
  const std::uint64_t revision = lease.metadata.revision;
  const wire::PolicyPage page = Policy(id);
  machine_.BreakDisk();

  const auto patched =
      Patch(id, R"({"metadata":{"labels":{"a":"b"}},"spec":{"traffic_class":"gold"}})");

  ASSERT_FALSE(patched);
  EXPECT_EQ(lease.spec, spec);
  EXPECT_EQ(lease.metadata.revision, revision);
  EXPECT_THAT(lease.metadata.labels, IsEmpty());
  EXPECT_FALSE(lease.grant.traffic_class);
  EXPECT_EQ(Policy(id).generation, page.generation);
  EXPECT_THAT(agent_.EventsOf("lease_changed"), IsEmpty());
}

TEST_F(LeaseServiceTest, AChangeThatFailedIsNotCarriedToTheDiskByTheNext) {
  const std::string id = CreateId();
  Result<void> second = Fail(ErrorCode::kInternal, "not called");
  agent_.on_snapshot = [&] {
    agent_.loop.Spawn(
        Keep(agent_.service.Patch(id, {}, R"({"spec":{"limits":{"cqs":5}}})"), &second));
    machine_.BreakDisk();
    // The second change's write finds the disk whole again.
    agent_.on_snapshot = [this] { machine_.RepairDisk(); };
  };

  const auto first = Patch(id, R"({"spec":{"limits":{"qps":2}}})");

  ASSERT_FALSE(first);
  ASSERT_TRUE(agent_.RunUntil([&] { return second.has_value(); })) << second.error().message;
  const rest::Limits saved = agent_.OnDisk().leases[0].lease.spec.limits;
  EXPECT_EQ(saved[wire::Limit::kCqs], 5U);
  EXPECT_EQ(saved[wire::Limit::kQps], 64U);
}

TEST_F(LeaseServiceTest, ARevokeDuringAChangeHasTheLastWord) {
  const std::string id = CreateId();
  const std::string cgroup = Lease(id).cgroup;
  Result<void> revoked = Fail(ErrorCode::kInternal, "not called");
  agent_.on_snapshot = [&] { agent_.loop.Spawn(Keep(agent_.service.Revoke(id, {}), &revoked)); };

  const auto patched = Patch(id, R"({"spec":{"limits":{"contexts":9}}})");

  EXPECT_TRUE(patched);
  ASSERT_TRUE(agent_.RunUntil([&] { return revoked.has_value(); }));
  EXPECT_EQ(Lease(id).phase, rest::Phase::kRevoked);
  EXPECT_EQ(machine_.kernel.cgroups.Writes().back(), cgroup + " rxe0 0");
  EXPECT_EQ(agent_.OnDisk().leases[0].lease.status.phase, rest::Phase::kRevoked);
}

TEST_F(LeaseServiceTest, AnEndedLeaseIsNotChangedAnyMore) {
  const std::string id = CreateId();
  ASSERT_TRUE(RunTask(agent_.loop, agent_.service.Revoke(id, {})));

  EXPECT_EQ(Patch(id, "{}").error().reason, "not_active");
  EXPECT_EQ(Renew(id, kTtl).error().reason, "not_active");
}

TEST_F(LeaseServiceTest, ALeaseExpiresWhenItsTimeIsOver) {
  const std::string id = CreateId();

  machine_.clock.Advance(seconds(kTtl - 1));
  agent_.service.Tick();
  EXPECT_EQ(Lease(id).phase, rest::Phase::kActive);
  EXPECT_FALSE(Lease(id).ending);
  machine_.clock.Advance(seconds(1));
  agent_.service.Tick();

  EXPECT_TRUE(agent_.RunUntil([&] { return Lease(id).phase == rest::Phase::kExpired; }));
  EXPECT_EQ(agent_.EventsOf("lease_expired").size(), 1U);
}

TEST_F(LeaseServiceTest, ARenewedLeaseLivesOn) {
  const std::string id = CreateId();
  machine_.clock.Advance(seconds(kTtl - 1));

  ASSERT_TRUE(Renew(id, kTtl));
  machine_.clock.Advance(seconds(kTtl - 1));
  agent_.service.Tick();

  EXPECT_FALSE(Lease(id).ending);
  EXPECT_EQ(agent_.OnDisk().leases[0].expires_boot_ns,
            static_cast<std::uint64_t>(Lease(id).expires_at.count()));
}

TEST_F(LeaseServiceTest, ARenewalThatIsNotDurableDoesNotCount) {
  const std::string id = CreateId();
  const BootTime expires = Lease(id).expires_at;
  const std::uint64_t revision = Lease(id).metadata.revision;
  machine_.BreakDisk();

  const auto renewed = Renew(id, 2 * kTtl);

  ASSERT_FALSE(renewed);
  EXPECT_EQ(Lease(id).expires_at, expires);
  EXPECT_EQ(Lease(id).spec.ttl_seconds, kTtl);
  EXPECT_EQ(Lease(id).metadata.revision, revision);
  EXPECT_EQ(Renew("lease-none", kTtl).error().code, ErrorCode::kNotFound);
}

TEST_F(LeaseServiceTest, TheWallClockEndsNothing) {
  const std::string id = CreateId();

  machine_.clock.SetWall(machine_.clock.Wall() + std::chrono::hours(100));
  agent_.service.Tick();

  EXPECT_FALSE(Lease(id).ending);
}

}  // namespace
}  // namespace rb::agent
