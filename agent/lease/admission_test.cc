#include "agent/lease/admission.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace rb::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::uint64_t kPortRate = 100'000'000'000;

DeviceFacts Device(const std::string& name) {
  return {.name = name,
          .link_layer = "ethernet",
          .port_rate_bits_per_second = kPortRate,
          .usable = true,
          .capacity = {{"qps", 100}, {"mr_bytes", std::uint64_t{1} << 40}}};
}

// Three good Ethernet devices, one InfiniBand one and one without a uverbs node.
NodeFacts Node() {
  NodeFacts node{.name = "n1",
                 .devices = {Device("d2"), Device("d0"), Device("d1"), Device("ib0"), Device("x0")},
                 .classes = {{"fast", {.traffic_class = 104, .sl = 3}}, {"slow", {}}}};
  node.devices[3].link_layer = "infiniband";
  node.devices[4].usable = false;
  return node;
}

rest::LeaseSpec Spec() {
  rest::LeaseSpec spec;
  spec.tenant = "t";
  spec.devices.link_layer = "ethernet";
  return spec;
}

rest::LeaseSpec Named(std::vector<std::string> names) {
  rest::LeaseSpec spec = Spec();
  spec.devices = {.count = static_cast<std::uint32_t>(names.size()),
                  .names = std::move(names),
                  .link_layer = {}};
  return spec;
}

Neighbour On(std::vector<std::string> devices, std::uint64_t qps = 1) {
  Neighbour neighbour{.id = "lease-n", .devices = std::move(devices), .limits = {}, .workload = {}};
  neighbour.limits[wire::Limit::kQps] = qps;
  return neighbour;
}

rest::Workload ForUid(std::uint32_t uid) { return {.token = false, .uid = uid, .cgroup = {}}; }
rest::Workload ForCgroup(std::string path) {
  return {.token = false, .uid = {}, .cgroup = std::move(path)};
}

// --- every refusal of a creation ---

struct Refused {
  const char* name;
  std::function<void(rest::LeaseSpec*)> ask;
  ErrorCode code;
  const char* reason;
  const char* message_part;
};

class AdmitRefusesTest : public ::testing::TestWithParam<Refused> {};

TEST_P(AdmitRefusesTest, AndNamesWhatIsWrong) {
  rest::LeaseSpec spec = Spec();
  GetParam().ask(&spec);

  const auto grant = Admit(spec, Node(), {});

  ASSERT_FALSE(grant);
  EXPECT_EQ(grant.error().code, GetParam().code);
  EXPECT_EQ(grant.error().reason, GetParam().reason);
  EXPECT_THAT(grant.error().message, HasSubstr(GetParam().message_part));
}

INSTANTIATE_TEST_SUITE_P(
    Table, AdmitRefusesTest,
    ::testing::Values(
        Refused{"OtherNode", [](auto* spec) { spec->node = "n2"; }, ErrorCode::kInvalid, "semantic",
                "this node is n1"},
        Refused{"UnknownClass", [](auto* spec) { spec->traffic_class = "gold"; },
                ErrorCode::kInvalid, "semantic", "it has fast, slow"},
        Refused{"RateAboveThePort",
                [](auto* spec) { spec->rate.max_bits_per_second = kPortRate + 1; },
                ErrorCode::kInvalid, "semantic", "100000000001, the port of d0 has 100000000000"},
        Refused{"NamedDeviceOfAnotherLinkLayer",
                [](auto* spec) { spec->devices.names = {"d0", "ib0"}; }, ErrorCode::kInvalid,
                "semantic", "device ib0: its link layer is infiniband"},
        Refused{"UnknownDevice", [](auto* spec) { spec->devices.names = {"d0", "d9"}; },
                ErrorCode::kNotFound, "no_device", "device d9: not on this node; it has d2, d0"},
        Refused{"DeviceWithoutNode", [](auto* spec) { spec->devices.names = {"x0"}; },
                ErrorCode::kNotFound, "no_device", "device x0"},
        Refused{"MoreThanFitTheSelector", [](auto* spec) { spec->devices.count = 4; },
                ErrorCode::kNotFound, "no_device", "asked 4, 3 fit"},
        Refused{"OnePastTheCapacity", [](auto* spec) { spec->limits[wire::Limit::kQps] = 101; },
                ErrorCode::kExhausted, "capacity_qps",
                "on d0: asked 101, capacity 100, granted to others 0, at most 100 would fit"},
        Refused{
            "ASecondLimitPastItsCapacity",
            [](auto* spec) { spec->limits[wire::Limit::kMrBytes] = (std::uint64_t{1} << 40) + 1; },
            ErrorCode::kExhausted, "capacity_mr_bytes", "mr_bytes"}),
    [](const auto& test) { return test.param.name; });

TEST(AdmitTest, ANodeWithoutDevicesSaysSo) {
  const auto grant = Admit(Spec(), {.name = "n1", .devices = {}, .classes = {}}, {});

  ASSERT_FALSE(grant);
  EXPECT_EQ(grant.error().reason, "no_device");
  EXPECT_THAT(grant.error().message, HasSubstr("this node has none"));
}

// --- what is granted ---

TEST(AdmitTest, GrantsExactlyTheCapacityAndTheRateOfThePort) {
  rest::LeaseSpec spec = Spec();
  spec.node = "n1";
  spec.limits[wire::Limit::kQps] = 100;
  spec.rate.max_bits_per_second = kPortRate;

  const auto grant = Admit(spec, Node(), {});

  ASSERT_TRUE(grant) << grant.error().message;
  EXPECT_THAT(grant->devices, ElementsAre("d0"));
  EXPECT_FALSE(grant->traffic_class);
}

TEST(AdmitTest, GivesTheClassOfTheNode) {
  rest::LeaseSpec spec = Spec();
  spec.traffic_class = "fast";

  const auto grant = Admit(spec, Node(), {});

  ASSERT_TRUE(grant) << grant.error().message;
  EXPECT_EQ(grant->traffic_class, (ClassFacts{.traffic_class = 104, .sl = 3}));
}

TEST(AdmitTest, NamedDevicesComeInTheOrderOfTheRequest) {
  const auto grant = Admit(Named({"ib0", "d2"}), Node(), {});

  ASSERT_TRUE(grant) << grant.error().message;
  EXPECT_THAT(grant->devices, ElementsAre("ib0", "d2"));
}

TEST(AdmitTest, TheSelectorTakesOnlyItsLinkLayer) {
  rest::LeaseSpec spec = Spec();
  spec.devices.link_layer = "infiniband";

  const auto grant = Admit(spec, Node(), {});

  ASSERT_TRUE(grant) << grant.error().message;
  EXPECT_THAT(grant->devices, ElementsAre("ib0"));
}

TEST(AdmitTest, ASelectorThatIsEmptyTakesAnyUsableDevice) {
  rest::LeaseSpec spec = Spec();
  spec.devices = {.count = 4, .names = {}, .link_layer = {}};

  const auto grant = Admit(spec, Node(), {});

  ASSERT_TRUE(grant) << grant.error().message;
  EXPECT_THAT(grant->devices, ElementsAre("d0", "d1", "d2", "ib0"));
}

TEST(AdmitTest, PrefersDevicesWithFewerLeasesAndThenNames) {
  rest::LeaseSpec spec = Spec();
  spec.devices.count = 2;

  const auto grant = Admit(spec, Node(), {On({"d0", "d1"}), On({"d0"})});

  ASSERT_TRUE(grant) << grant.error().message;
  EXPECT_THAT(grant->devices, ElementsAre("d1", "d2"));
}

TEST(AdmitTest, AnUnknownPortRateAndAnUnknownCapacityRefuseNothing) {
  NodeFacts node = Node();
  node.devices = {Device("d0")};
  node.devices[0].port_rate_bits_per_second = 0;
  node.devices[0].capacity.clear();
  rest::LeaseSpec spec = Spec();
  spec.rate.max_bits_per_second = kPortRate * 100;
  spec.limits[wire::Limit::kQps] = 1'000'000;

  EXPECT_TRUE(Admit(spec, node, {}));
}

// --- neighbours ---

TEST(AdmitTest, WhatNeighboursHoldIsNotFreeDownToTheLastOne) {
  rest::LeaseSpec fits = Named({"d0"});
  fits.limits[wire::Limit::kQps] = 30;
  rest::LeaseSpec too_much = fits;
  too_much.limits[wire::Limit::kQps] = 31;
  const std::vector<Neighbour> neighbours{On({"d0"}, 40), On({"d0", "d1"}, 30)};

  const auto granted = Admit(fits, Node(), neighbours);
  const auto refused = Admit(too_much, Node(), neighbours);

  EXPECT_TRUE(granted);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, "capacity_qps");
  EXPECT_THAT(refused.error().message,
              HasSubstr("asked 31, capacity 100, granted to others 70, at most 30 would fit"));
}

TEST(AdmitTest, NeighboursOnOtherDevicesTakeNothing) {
  rest::LeaseSpec spec = Named({"d0"});
  spec.limits[wire::Limit::kQps] = 100;

  EXPECT_TRUE(Admit(spec, Node(), {On({"d1"}, 100), On({"d2"}, 100)}));
}

TEST(AdmitTest, EveryDeviceOfTheLeaseMustHoldTheWholeLimit) {
  rest::LeaseSpec spec = Named({"d0", "d1"});
  spec.limits[wire::Limit::kQps] = 60;

  const auto grant = Admit(spec, Node(), {On({"d1"}, 41)});

  ASSERT_FALSE(grant);
  EXPECT_THAT(grant.error().message, HasSubstr("limit qps on d1"));
}

TEST(AdmitTest, ADeviceThatIsOvercommittedHoldsNothingMore) {
  // Possible after a firmware change: the leases are older than the smaller capacity.
  rest::LeaseSpec none = Named({"d0"});
  none.limits[wire::Limit::kQps] = 0;
  rest::LeaseSpec one = none;
  one.limits[wire::Limit::kQps] = 1;

  EXPECT_TRUE(Admit(none, Node(), {On({"d0"}, 101)}));
  EXPECT_FALSE(Admit(one, Node(), {On({"d0"}, 101)}));
}

TEST(AdmitTest, HugeByteLimitsOfNeighboursDoNotWrapAround) {
  Neighbour huge = On({"d0"}, 0);
  huge.limits[wire::Limit::kMrBytes] = std::numeric_limits<std::int64_t>::max();

  const auto grant = Admit(Named({"d0"}), Node(), {huge, huge, huge});

  ASSERT_FALSE(grant);
  EXPECT_EQ(grant.error().reason, "capacity_mr_bytes");
}

// --- workloads ---

struct Pair {
  const char* name;
  rest::Workload ours;
  rest::Workload theirs;
  bool conflict;
};

class WorkloadTest : public ::testing::TestWithParam<Pair> {};

TEST_P(WorkloadTest, TwoLeasesNeverMatchOneProcess) {
  rest::LeaseSpec spec = Spec();
  spec.workload = GetParam().ours;
  Neighbour neighbour = On({"d0"});
  neighbour.workload = GetParam().theirs;

  const auto grant = Admit(spec, Node(), {neighbour});

  ASSERT_EQ(!grant, GetParam().conflict);
  if (!GetParam().conflict) return;
  EXPECT_EQ(grant.error().code, ErrorCode::kConflict);
  EXPECT_EQ(grant.error().reason, "workload_taken");
  EXPECT_THAT(grant.error().message, HasSubstr("lease-n"));
}

INSTANTIATE_TEST_SUITE_P(
    Table, WorkloadTest,
    ::testing::Values(
        Pair{"TwoTokens", {}, {}, false}, Pair{"SameUid", ForUid(7), ForUid(7), true},
        Pair{"OtherUid", ForUid(7), ForUid(8), false},
        Pair{"UidBesideATokenOfThatUid", ForUid(7), {.token = true, .uid = 7, .cgroup = {}}, false},
        Pair{"TokenOfAUidThatIsTaken", {.token = true, .uid = 7, .cgroup = {}}, ForUid(7), false},
        Pair{"SameCgroup", ForCgroup("/pods/p1"), ForCgroup("/pods/p1"), true},
        Pair{"CgroupInsideTheirs", ForCgroup("/pods/p1/c1"), ForCgroup("/pods/p1"), true},
        Pair{"CgroupAroundTheirs", ForCgroup("/pods"), ForCgroup("/pods/p1"), true},
        Pair{"CgroupThatOnlyStartsAlike", ForCgroup("/pods/p10"), ForCgroup("/pods/p1"), false},
        Pair{"CgroupBesideAToken", ForCgroup("/pods/p1"), {}, false}),
    [](const auto& test) { return test.param.name; });

TEST(AdmitTest, RefusesACgroupThatIsTheAgentsBelowOrAroundIt) {
  NodeFacts node = Node();
  node.reserved_cgroups = {"/rdma-broker", "/system.slice/rdma-agent.service"};
  for (const char* path : {"/rdma-broker", "/rdma-broker/lease-1", "/system.slice"}) {
    rest::LeaseSpec spec = Spec();
    spec.workload = ForCgroup(path);

    const auto grant = Admit(spec, node, {});

    ASSERT_FALSE(grant) << path;
    EXPECT_EQ(grant.error().reason, "semantic");
    EXPECT_THAT(grant.error().message, HasSubstr(path));
  }
  rest::LeaseSpec beside = Spec();
  beside.workload = ForCgroup("/rdma-broker2");
  EXPECT_TRUE(Admit(beside, node, {}));
}

TEST(IsWithinCgroupTest, ComparesWholeComponents) {
  EXPECT_TRUE(IsWithinCgroup("/a", "/a"));
  EXPECT_TRUE(IsWithinCgroup("/a/b/c", "/a"));
  EXPECT_FALSE(IsWithinCgroup("/ab", "/a"));
  EXPECT_FALSE(IsWithinCgroup("/a", "/a/b"));
  EXPECT_FALSE(IsWithinCgroup("/a", ""));
}

// --- changes ---

struct Fixed {
  const char* field;
  std::function<void(rest::LeaseSpec*)> change;
};

class FixedFieldTest : public ::testing::TestWithParam<Fixed> {};

TEST_P(FixedFieldTest, MayNotChangeAndIsNamed) {
  const rest::LeaseSpec before = Spec();
  rest::LeaseSpec after = before;
  GetParam().change(&after);

  const auto grant = AdmitChange(before, after, {"d0"}, Node(), {});

  ASSERT_FALSE(grant);
  EXPECT_EQ(grant.error().code, ErrorCode::kInvalid);
  EXPECT_EQ(grant.error().reason, "immutable");
  EXPECT_THAT(grant.error().message,
              HasSubstr(std::string("spec.") + GetParam().field + ": fixed"));
}

INSTANTIATE_TEST_SUITE_P(
    Table, FixedFieldTest,
    ::testing::Values(Fixed{"tenant", [](auto* spec) { spec->tenant = "u"; }},
                      Fixed{"node", [](auto* spec) { spec->node = "n1"; }},
                      Fixed{"devices", [](auto* spec) { spec->devices.count = 2; }},
                      Fixed{"workload", [](auto* spec) { spec->workload.uid = 7; }},
                      Fixed{"devx", [](auto* spec) { spec->devx = rest::Permission::kAllow; }},
                      Fixed{"raw", [](auto* spec) { spec->raw = rest::Permission::kAllow; }},
                      Fixed{"unknown",
                            [](auto* spec) { spec->unknown = rest::Permission::kAllow; }},
                      Fixed{"accounting", [](auto* spec) { spec->accounting = false; }},
                      Fixed{"pacing", [](auto* spec) { spec->pacing = rest::Pacing::kOff; }},
                      Fixed{"ttl_seconds", [](auto* spec) { ++spec->ttl_seconds; }}),
    [](const auto& test) { return test.param.field; });

TEST(AdmitChangeTest, LimitsRateAndClassMayChange) {
  const rest::LeaseSpec before = Spec();
  rest::LeaseSpec after = before;
  after.limits[wire::Limit::kQps] = 100;
  after.rate = {.max_bits_per_second = kPortRate, .burst_bytes = 4096};
  after.traffic_class = "fast";
  after.on_foreign_class = rest::ForeignClass::kRefuse;

  const auto grant = AdmitChange(before, after, {"d1"}, Node(), {});

  ASSERT_TRUE(grant) << grant.error().message;
  EXPECT_THAT(grant->devices, ElementsAre("d1"));
  EXPECT_EQ(grant->traffic_class, (ClassFacts{.traffic_class = 104, .sl = 3}));
}

TEST(AdmitChangeTest, IsHeldToTheSameCapacityRateAndClasses) {
  const rest::LeaseSpec before = Spec();
  rest::LeaseSpec more = before;
  more.limits[wire::Limit::kQps] = 61;
  rest::LeaseSpec faster = before;
  faster.rate.max_bits_per_second = kPortRate + 1;
  rest::LeaseSpec gold = before;
  gold.traffic_class = "gold";
  const std::vector<Neighbour> neighbours{On({"d0"}, 40)};

  const auto too_many = AdmitChange(before, more, {"d0"}, Node(), neighbours);
  const auto too_fast = AdmitChange(before, faster, {"d0"}, Node(), neighbours);
  const auto no_class = AdmitChange(before, gold, {"d0"}, Node(), neighbours);

  ASSERT_FALSE(too_many);
  EXPECT_EQ(too_many.error().reason, "capacity_qps");
  ASSERT_FALSE(too_fast);
  EXPECT_EQ(too_fast.error().reason, "semantic");
  ASSERT_FALSE(no_class);
  EXPECT_EQ(no_class.error().reason, "semantic");
}

TEST(AdmitChangeTest, ARateCannotComeToProcessesWithoutTheHook) {
  rest::LeaseSpec before = Spec();
  before.accounting = false;
  rest::LeaseSpec after = before;
  after.rate.max_bits_per_second = 1'000'000;

  const auto grant = AdmitChange(before, after, {"d0"}, Node(), {});

  ASSERT_FALSE(grant);
  EXPECT_EQ(grant.error().reason, "immutable");
  EXPECT_THAT(grant.error().message, HasSubstr("spec.rate"));
}

TEST(AdmitChangeTest, APacedLeaseWithoutAccountingMayChangeItsRate) {
  rest::LeaseSpec before = Spec();
  before.accounting = false;
  before.rate.max_bits_per_second = 1'000'000;
  rest::LeaseSpec after = before;
  after.rate.max_bits_per_second = 2'000'000;

  EXPECT_TRUE(AdmitChange(before, after, {"d0"}, Node(), {}));
}

TEST(AdmitChangeTest, AnUnpluggedDeviceStaysInTheLease) {
  rest::LeaseSpec after = Spec();
  after.limits[wire::Limit::kQps] = 1;

  const auto grant = AdmitChange(Spec(), after, {"gone0"}, Node(), {});

  ASSERT_TRUE(grant) << grant.error().message;
  EXPECT_THAT(grant->devices, ElementsAre("gone0"));
}

}  // namespace
}  // namespace rb::agent
