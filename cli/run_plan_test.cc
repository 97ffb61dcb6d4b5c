#include "cli/run_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rb::cli {
namespace {

using ::testing::HasSubstr;

constexpr const char* kAdmin = "/run/rdma-broker/admin.sock";

Caller Root() {
  return {.uid = 0,
          .gid = 0,
          .environment = {{"PATH", "/bin"}},
          .program_folder = "/opt/bin",
          .primary_group = [](uid_t uid) { return std::optional<gid_t>(uid + 1); },
          .is_file = [](const std::string& path) { return path == "/opt/bin/librdma-shim.so"; }};
}

Caller User() {
  Caller caller = Root();
  caller.uid = 1000;
  caller.gid = 1001;
  return caller;
}

RunOptions Id() {
  RunOptions options;
  options.command = {"id", "-u"};
  return options;
}

RunOptions IdAs(const std::string& uid) {
  RunOptions options = Id();
  options.uid = uid;
  return options;
}

TEST(MakeRunPlanTest, RootCreatesALeaseForTheTargetUser) {
  RunOptions options = IdAs("1000");
  options.lease.tenant = "alice";
  options.lease.limits[wire::Index(wire::Limit::kQps)] = "2";

  const auto plan = MakeRunPlan(options, kAdmin, Root());

  ASSERT_TRUE(plan) << plan.error().message;
  rest::LeaseRequest expected;
  expected.spec.tenant = "alice";
  expected.spec.limits[wire::Limit::kQps] = 2;
  expected.spec.ttl_seconds = kRunTtlSeconds;
  expected.spec.workload = {.token = true, .uid = 1000, .cgroup = ""};
  EXPECT_EQ(plan->request, expected);
  EXPECT_EQ(plan->token, "");
  EXPECT_EQ(plan->workload,
            (WorkloadPlan{
                .uid = 1000,
                .gid = 1001,
                .change_user = true,
                .hide_devices = true,
                .rdma_cm = false,
                .shim = "/opt/bin/librdma-shim.so",
                .agent_socket = "/run/rdma-broker/tenant/agent.sock",
                .command = {"id", "-u"},
                .environment = {{"PATH", "/bin"}, {"LD_PRELOAD", "/opt/bin/librdma-shim.so"}}}));
}

TEST(MakeRunPlanTest, TheUserIsWhoCalledSudo) {
  Caller caller = Root();
  caller.environment["SUDO_UID"] = "1234";

  EXPECT_EQ(MakeRunPlan(Id(), kAdmin, caller)->workload.uid, 1234U);
  EXPECT_EQ(MakeRunPlan(IdAs("7"), kAdmin, caller)->workload.uid, 7U);
}

TEST(MakeRunPlanTest, RootIsNeverADefault) {
  for (const char* sudo_uid : {"", "0"}) {
    Caller caller = Root();
    if (*sudo_uid != '\0') caller.environment["SUDO_UID"] = sudo_uid;

    const auto plan = MakeRunPlan(Id(), kAdmin, caller);

    ASSERT_FALSE(plan);
    EXPECT_EQ(plan.error().code, ErrorCode::kInvalid);
    EXPECT_THAT(plan.error().message, HasSubstr("--uid"));
  }
  const auto meant = MakeRunPlan(IdAs("0"), kAdmin, Root());
  ASSERT_TRUE(meant);
  EXPECT_EQ(meant->workload.uid, 0U);
}

TEST(MakeRunPlanTest, ATenantOfItsOwnPerUserUnlessNamed) {
  EXPECT_EQ(MakeRunPlan(IdAs("1000"), kAdmin, Root())->request->spec.tenant, "uid-1000");
}

TEST(MakeRunPlanTest, AUserWithoutAccountGetsTheGroupOfTheSameNumber) {
  Caller caller = Root();
  caller.primary_group = [](uid_t) { return std::optional<gid_t>(); };

  EXPECT_EQ(MakeRunPlan(IdAs("5000"), kAdmin, caller)->workload.gid, 5000U);
  RunOptions options = IdAs("5000");
  options.gid = "6";
  EXPECT_EQ(MakeRunPlan(options, kAdmin, caller)->workload.gid, 6U);
}

TEST(MakeRunPlanTest, DevicesAreHiddenUnlessAskedOtherwise) {
  RunOptions options = IdAs("1000");
  options.keep_devices = true;
  EXPECT_FALSE(MakeRunPlan(options, kAdmin, Root())->workload.hide_devices);
  options.keep_devices = false;
  options.rdma_cm = true;
  EXPECT_TRUE(MakeRunPlan(options, kAdmin, Root())->workload.rdma_cm);
}

TEST(MakeRunPlanTest, ATokenUsesItsLeaseAndLeavesTheEnvironment) {
  RunOptions options = Id();
  options.lease_token = "rbl_1";
  const auto flag = MakeRunPlan(options, kAdmin, User());
  Caller caller = User();
  caller.environment["RDMA_LEASE"] = "rbl_2";
  const auto variable = MakeRunPlan(Id(), kAdmin, caller);

  ASSERT_TRUE(flag && variable);
  EXPECT_FALSE(flag->request);
  EXPECT_EQ(flag->token, "rbl_1");
  EXPECT_EQ(variable->token, "rbl_2");
  EXPECT_EQ(variable->workload.environment.count("RDMA_LEASE"), 0U);
  EXPECT_FALSE(variable->workload.change_user);
  EXPECT_FALSE(variable->workload.hide_devices);
}

TEST(MakeRunPlanTest, FlagsOfANewLeaseBeatAVariableButNotAFlag) {
  Caller caller = Root();
  caller.environment["RDMA_LEASE"] = "rbl_2";
  RunOptions options = IdAs("1000");
  options.lease.rate = "1MiB/s";
  EXPECT_TRUE(MakeRunPlan(options, kAdmin, caller)->request);

  options.lease_token = "rbl_1";
  EXPECT_EQ(MakeRunPlan(options, kAdmin, caller).error().code, ErrorCode::kInvalid);
}

TEST(MakeRunPlanTest, WhatOnlyRootCanDoIsDenied) {
  EXPECT_EQ(MakeRunPlan(Id(), kAdmin, User()).error().code, ErrorCode::kDenied);
  RunOptions options = IdAs("1001");
  options.lease_token = "rbl_1";
  EXPECT_EQ(MakeRunPlan(options, kAdmin, User()).error().code, ErrorCode::kDenied);
  options.uid = "1000";
  options.gid = "0";
  EXPECT_EQ(MakeRunPlan(options, kAdmin, User()).error().code, ErrorCode::kDenied);
}

TEST(MakeRunPlanTest, TheShimGoesBeforeWhatIsPreloadedAlready) {
  Caller caller = Root();
  caller.environment["LD_PRELOAD"] = "libother.so";

  EXPECT_EQ(MakeRunPlan(IdAs("1"), kAdmin, caller)->workload.environment.at("LD_PRELOAD"),
            "/opt/bin/librdma-shim.so:libother.so");
}

TEST(MakeRunPlanTest, AMissingShimIsNamed) {
  RunOptions options = IdAs("1");
  options.shim = "/nowhere.so";
  EXPECT_EQ(MakeRunPlan(options, kAdmin, Root()).error().message, "--shim: no file /nowhere.so");

  Caller caller = Root();
  caller.is_file = [](const std::string&) { return false; };
  const auto plan = MakeRunPlan(IdAs("1"), kAdmin, caller);
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, ErrorCode::kNotFound);
  for (const std::string& place : ShimPlaces("/opt/bin")) {
    EXPECT_THAT(plan.error().message, HasSubstr(place));
  }
}

TEST(MakeRunPlanTest, TheTenantSocketLiesBesideTheAdminSocket) {
  const auto plan = MakeRunPlan(IdAs("1"), "/tmp/a/admin.sock", Root());

  EXPECT_EQ(plan->workload.agent_socket, "/tmp/a/tenant/agent.sock");
  EXPECT_EQ(plan->workload.environment.at("RDMA_AGENT_SOCKET"), "/tmp/a/tenant/agent.sock");

  Caller caller = Root();
  caller.environment["RDMA_AGENT_SOCKET"] = "/v.sock";
  EXPECT_EQ(MakeRunPlan(IdAs("1"), kAdmin, caller)->workload.agent_socket, "/v.sock");
  RunOptions options = IdAs("1");
  options.agent_socket = "/f.sock";
  EXPECT_EQ(MakeRunPlan(options, kAdmin, caller)->workload.agent_socket, "/f.sock");
}

TEST(MakeRunPlanTest, BadIdsAndBadLeasesAreUsageErrors) {
  EXPECT_EQ(MakeRunPlan(IdAs("root"), kAdmin, Root()).error().code, ErrorCode::kInvalid);
  RunOptions options = IdAs("1");
  options.lease.rate = "fast";
  EXPECT_EQ(MakeRunPlan(options, kAdmin, Root()).error().code, ErrorCode::kInvalid);
}

}  // namespace
}  // namespace rb::cli
