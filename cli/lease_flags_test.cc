#include "cli/lease_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rb::cli {
namespace {

using ::testing::StartsWith;

rest::LeaseRequest Applied(const LeaseFlags& flags) {
  rest::LeaseRequest request;
  const auto applied = ApplyFlags(flags, &request);
  EXPECT_TRUE(applied) << applied.error().message;
  return request;
}

TEST(ApplyFlagsTest, NoFlagsChangeNothing) { EXPECT_EQ(Applied({}), rest::LeaseRequest{}); }

TEST(ApplyFlagsTest, EveryRowOfTheLimitTableHasItsFlag) {
  for (const wire::LimitRow& row : wire::kLimitTable) {
    LeaseFlags flags;
    flags.limits.at(wire::Index(row.limit)) = "7";

    const rest::LeaseRequest request = Applied(flags);

    rest::Limits expected;
    expected[row.limit] = 7;
    EXPECT_EQ(request.spec.limits, expected) << FlagOf(row);
  }
  EXPECT_EQ(FlagOf(wire::Row(wire::Limit::kMrBytes)), "--mr-bytes");
}

TEST(ApplyFlagsTest, SetsWhatIsGiven) {
  LeaseFlags flags;
  flags.tenant = "alice";
  flags.devices = {"rxe0", "rxe1"};
  flags.limits[wire::Index(wire::Limit::kMrBytes)] = "64GiB";
  flags.traffic_class = "storage";
  flags.on_foreign_class = "refuse";
  flags.rate = "20MiB/s";
  flags.burst = "64KiB";
  flags.pacing = "off";
  flags.raw = "allow";
  flags.accounting = "off";
  flags.ttl = "2m";
  flags.labels = {"job=llm-7", "note=a=b"};

  const rest::LeaseRequest request = Applied(flags);

  EXPECT_EQ(request.spec.tenant, "alice");
  EXPECT_EQ(request.spec.devices.names, flags.devices);
  EXPECT_EQ(request.spec.devices.count, 2U);
  EXPECT_EQ(request.spec.limits[wire::Limit::kMrBytes], std::uint64_t{64} << 30);
  EXPECT_EQ(request.spec.rate,
            (rest::Rate{.max_bits_per_second = 167'772'160, .burst_bytes = 65536}));
  EXPECT_EQ(request.spec.on_foreign_class, rest::ForeignClass::kRefuse);
  EXPECT_EQ(request.spec.pacing, rest::Pacing::kOff);
  EXPECT_EQ(request.spec.raw, rest::Permission::kAllow);
  EXPECT_EQ(request.spec.devx, rest::Permission::kDeny);
  EXPECT_FALSE(request.spec.accounting);
  EXPECT_EQ(request.spec.ttl_seconds, 120U);
  EXPECT_EQ(request.labels, (rest::Labels{{"job", "llm-7"}, {"note", "a=b"}}));
}

TEST(ApplyFlagsTest, TakesAwayClassRateAndLabel) {
  rest::LeaseRequest request;
  request.spec.traffic_class = "storage";
  request.spec.rate.max_bits_per_second = 8000;
  request.labels = {{"job", "x"}};
  LeaseFlags flags;
  flags.traffic_class = "none";
  flags.rate = "0";
  flags.labels = {"job="};

  ASSERT_TRUE(ApplyFlags(flags, &request));

  EXPECT_EQ(request, rest::LeaseRequest{});
}

TEST(ApplyFlagsTest, AMistakeNamesItsFlag) {
  const auto refusal = [](auto&& set) {
    LeaseFlags flags;
    set(flags);
    rest::LeaseRequest request;
    const auto applied = ApplyFlags(flags, &request);
    return applied ? std::string("accepted") : applied.error().message;
  };
  EXPECT_THAT(refusal([](auto& f) { f.rate = "fast"; }), StartsWith("--rate: "));
  EXPECT_THAT(refusal([](auto& f) { f.burst = "-1"; }), StartsWith("--burst: "));
  EXPECT_THAT(refusal([](auto& f) { f.ttl = "3600"; }), StartsWith("--ttl: "));
  EXPECT_THAT(refusal([](auto& f) { f.ttl = "1500ms"; }), StartsWith("--ttl: "));
  EXPECT_THAT(refusal([](auto& f) { f.ttl = "0"; }), StartsWith("--ttl: "));
  EXPECT_THAT(refusal([](auto& f) { f.limits[2] = "64KiB"; }), StartsWith("--qps: "));
  EXPECT_THAT(refusal([](auto& f) { f.limits[6] = "many"; }), StartsWith("--mr-bytes: "));
  EXPECT_THAT(refusal([](auto& f) { f.device_count = "4294967296"; }), StartsWith("--devices: "));
  EXPECT_THAT(refusal([](auto& f) { f.device_count = "x"; }), StartsWith("--devices: "));
  EXPECT_THAT(refusal([](auto& f) {
                f.device_count = "1";
                f.devices = {"a"};
              }),
              StartsWith("--device "));
  EXPECT_THAT(refusal([](auto& f) { f.pacing = "defer"; }), StartsWith("--pacing: "));
  EXPECT_THAT(refusal([](auto& f) { f.devx = "yes"; }), StartsWith("--devx: "));
  EXPECT_THAT(refusal([](auto& f) { f.accounting = "true"; }), StartsWith("--accounting: "));
  EXPECT_THAT(refusal([](auto& f) { f.labels = {"job"}; }), StartsWith("--label: "));
  EXPECT_THAT(refusal([](auto& f) { f.labels = {"=x"}; }), StartsWith("--label: "));
}

TEST(ApplyWorkloadFlagsTest, ChoosesTheSelector) {
  const auto workload = [](const WorkloadFlags& flags) {
    rest::LeaseRequest request;
    EXPECT_TRUE(ApplyFlags(flags, &request));
    return request.spec.workload;
  };
  EXPECT_EQ(workload({}), (rest::Workload{.token = true, .uid = {}, .cgroup = ""}));
  EXPECT_EQ(workload({.uid = "7"}), (rest::Workload{.token = true, .uid = 7, .cgroup = ""}));
  EXPECT_EQ(workload({.uid = "7", .no_token = true}),
            (rest::Workload{.token = false, .uid = 7, .cgroup = ""}));
  EXPECT_EQ(workload({.cgroup = "/a"}),
            (rest::Workload{.token = false, .uid = {}, .cgroup = "/a"}));
}

TEST(CheckRequestTest, SaysWhatIsWrongWithoutAJsonPointer) {
  rest::LeaseRequest request;
  request.spec.tenant = "Alice";
  const auto checked = CheckRequest(request);

  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().code, ErrorCode::kInvalid);
  EXPECT_THAT(checked.error().message, StartsWith("spec.tenant: "));
}

TEST(ParseIdTest, RefusesTheIdThatMeansNobody) {
  EXPECT_EQ(*ParseId("4294967294"), 4294967294U);
  EXPECT_FALSE(ParseId("4294967295"));
  EXPECT_FALSE(ParseId("root"));
}

}  // namespace
}  // namespace rb::cli
