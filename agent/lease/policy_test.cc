#include "agent/lease/policy.h"

#include <gtest/gtest.h>

#include <string>

#include "api/wire/limit_table.h"

namespace rb::agent {
namespace {

const Grant kTwoDevices{.devices = {"d0", "d1"}, .traffic_class = {}};

wire::PolicyPage Build(const rest::LeaseSpec& spec, const Grant& grant = kTwoDevices) {
  return BuildPolicy(spec, grant, wire::PolicyState::kActive);
}

TEST(BuildPolicyTest, SaysWhatThePageIsAndLeavesTheGenerationToTheWriter) {
  const wire::PolicyPage page = BuildPolicy({}, kTwoDevices, wire::PolicyState::kRevoked);

  EXPECT_EQ(page.magic, wire::kPolicyMagic);
  EXPECT_EQ(page.version, wire::kPageVersion);
  EXPECT_EQ(page.generation, 0U);
  EXPECT_EQ(page.state, static_cast<std::uint32_t>(wire::PolicyState::kRevoked));
}

TEST(BuildPolicyTest, EveryLimitStandsAtItsIndex) {
  rest::LeaseSpec spec;
  for (std::size_t i = 0; i < wire::kLimitCount; ++i) spec.limits.values[i] = 1000 + i;

  const wire::PolicyPage page = Build(spec);

  for (std::size_t i = 0; i < wire::kLimitCount; ++i) {
    EXPECT_EQ(page.limits[i], 1000 + i) << wire::kLimitTable[i].name;
  }
  // Limits yet to come allow nothing rather than anything.
  for (std::size_t i = wire::kLimitCount; i < wire::kPageLimits; ++i) {
    EXPECT_EQ(page.limits[i], 0U) << i;
  }
}

TEST(BuildPolicyTest, DeniesByDefaultAndCounts) {
  const wire::PolicyPage page = Build({});

  EXPECT_EQ(page.flags, wire::kPolicyAccounting | wire::kPolicyDenyUnknown | wire::kPolicyDenyRaw |
                            wire::kPolicyDenyDevx);
}

TEST(BuildPolicyTest, EachPermissionLiftsOnlyItsOwnDenial) {
  const std::uint32_t all = Build({}).flags;
  rest::LeaseSpec unknown;
  unknown.unknown = rest::Permission::kAllow;
  rest::LeaseSpec raw;
  raw.raw = rest::Permission::kAllow;
  rest::LeaseSpec devx;
  devx.devx = rest::Permission::kAllow;
  rest::LeaseSpec uncounted;
  uncounted.accounting = false;

  EXPECT_EQ(Build(unknown).flags, all & ~wire::kPolicyDenyUnknown);
  EXPECT_EQ(Build(raw).flags, all & ~wire::kPolicyDenyRaw);
  EXPECT_EQ(Build(devx).flags, all & ~wire::kPolicyDenyDevx);
  EXPECT_EQ(Build(uncounted).flags, all & ~wire::kPolicyAccounting);
}

TEST(BuildPolicyTest, CarriesTheClassAndWhatToDoWithAForeignOne) {
  rest::LeaseSpec spec;
  spec.on_foreign_class = rest::ForeignClass::kRefuse;
  const Grant grant{.devices = {"d0"}, .traffic_class = ClassFacts{.traffic_class = 104, .sl = 3}};

  const wire::PolicyPage refuse = Build(spec, grant);
  const wire::PolicyPage rewrite = Build({}, grant);

  EXPECT_EQ(refuse.traffic_class, 104);
  EXPECT_EQ(refuse.sl, 3);
  EXPECT_NE(refuse.flags & wire::kPolicyHasClass, 0U);
  EXPECT_NE(refuse.flags & wire::kPolicyRefuseClass, 0U);
  EXPECT_NE(rewrite.flags & wire::kPolicyHasClass, 0U);
  EXPECT_EQ(rewrite.flags & wire::kPolicyRefuseClass, 0U);
}

TEST(BuildPolicyTest, WithoutAClassThereIsNoForeignOne) {
  rest::LeaseSpec spec;
  spec.on_foreign_class = rest::ForeignClass::kRefuse;

  const wire::PolicyPage page = Build(spec);

  EXPECT_EQ(page.flags & (wire::kPolicyHasClass | wire::kPolicyRefuseClass), 0U);
}

TEST(BuildPolicyTest, PacesEveryDeviceOfTheGrantAndNoOther) {
  rest::LeaseSpec spec;
  spec.rate = {.max_bits_per_second = 80'000, .burst_bytes = 4096};

  const wire::PolicyPage page = Build(spec);

  EXPECT_NE(page.flags & wire::kPolicyPaced, 0U);
  for (const std::size_t device : {0, 1}) {
    EXPECT_EQ(page.devices[device].rate_bytes_per_second, 10'000U);
    EXPECT_EQ(page.devices[device].burst_bytes, 4096U);
  }
  EXPECT_EQ(page.devices[2].rate_bytes_per_second, 0U);
}

TEST(BuildPolicyTest, ARateBelowAByteIsStillARate) {
  rest::LeaseSpec spec;
  spec.rate.max_bits_per_second = 7;

  EXPECT_EQ(Build(spec).devices[0].rate_bytes_per_second, 1U);
}

TEST(BuildPolicyTest, PacingOffMeansNoRate) {
  rest::LeaseSpec spec;
  spec.rate.max_bits_per_second = 80'000;
  spec.pacing = rest::Pacing::kOff;

  const wire::PolicyPage page = Build(spec);

  EXPECT_EQ(page.flags & wire::kPolicyPaced, 0U);
  EXPECT_EQ(page.devices[0].rate_bytes_per_second, 0U);
}

TEST(BuildPolicyTest, HoldsAsManyDevicesAsALeaseMayHave) {
  rest::LeaseSpec spec;
  spec.rate.max_bits_per_second = 80'000;
  const Grant grant{.devices = std::vector<std::string>(wire::kLeaseDevicesMax, "d"),
                    .traffic_class = {}};

  EXPECT_EQ(Build(spec, grant).devices.back().rate_bytes_per_second, 10'000U);
}

TEST(EnforcementTest, TheKernelHoldsItsRowsOnlyWithTheController) {
  const auto with = Enforcement({}, true);
  const auto without = Enforcement({}, false);

  for (const wire::LimitRow& row : wire::kLimitTable) {
    EXPECT_EQ(with.at(row.name), row.level == wire::Level::kKernel ? "kernel" : "shim") << row.name;
    EXPECT_EQ(without.at(row.name), "shim") << row.name;
  }
  EXPECT_EQ(with.at("contexts"), "kernel");
}

TEST(EnforcementTest, RateAndClassAreNamedOnlyWhenTheLeaseHasThem) {
  rest::LeaseSpec spec;
  spec.rate.max_bits_per_second = 80'000;
  spec.traffic_class = "fast";
  rest::LeaseSpec unpaced = spec;
  unpaced.pacing = rest::Pacing::kOff;

  const auto levels = Enforcement(spec, true);
  const auto bare = Enforcement({}, true);

  EXPECT_EQ(levels.at("rate"), "shim");
  EXPECT_EQ(levels.at("traffic_class"), "shim");
  EXPECT_EQ(Enforcement(unpaced, true).at("rate"), "none");
  EXPECT_FALSE(bare.contains("rate"));
  EXPECT_FALSE(bare.contains("traffic_class"));
}

}  // namespace
}  // namespace rb::agent
