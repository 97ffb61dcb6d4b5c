#include "agent/lease/traffic_totals.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace rb::agent {
namespace {

// A lease whose n-th device sent 10 * (n + 1) bytes in one message.
LeaseRecord Record(const std::string& tenant, std::vector<std::string> devices) {
  LeaseRecord record;
  record.spec.tenant = tenant;
  record.grant.devices = std::move(devices);
  auto counters = CountersMemory::Create("rb-test");
  RB_CHECK(counters);
  for (std::size_t i = 0; i < record.grant.devices.size(); ++i) {
    counters->page()->retired[i].ops[0] = {.messages = 1, .bytes = 10 * (i + 1)};
    counters->page()->retired[i].throttled_ns = 3;
  }
  record.counters.emplace(std::move(*counters));
  return record;
}

TEST(TrafficTotalsTest, StartEmpty) { EXPECT_TRUE(TrafficTotals().by_tenant_and_device().empty()); }

TEST(TrafficTotalsTest, AddUpLeasesOfOneTenantOnOneDevice) {
  TrafficTotals totals;

  totals.Add(Record("t1", {"d0", "d1"}));
  totals.Add(Record("t1", {"d1"}));

  const auto& sums = totals.by_tenant_and_device();
  ASSERT_EQ(sums.size(), 2U);
  EXPECT_EQ(sums.at({"t1", "d0"}).ops[0].bytes, 10U);
  EXPECT_EQ(sums.at({"t1", "d1"}).ops[0].bytes, 30U);
  EXPECT_EQ(sums.at({"t1", "d1"}).ops[0].messages, 2U);
  EXPECT_EQ(sums.at({"t1", "d1"}).ops[1].bytes, 0U);
  EXPECT_EQ(sums.at({"t1", "d1"}).throttled_ns, 6U);
}

TEST(TrafficTotalsTest, KeepTenantsApart) {
  TrafficTotals totals;

  totals.Add(Record("t1", {"d0"}));
  totals.Add(Record("t2", {"d0"}));

  EXPECT_EQ(totals.by_tenant_and_device().at({"t1", "d0"}).ops[0].bytes, 10U);
  EXPECT_EQ(totals.by_tenant_and_device().at({"t2", "d0"}).ops[0].bytes, 10U);
}

TEST(TrafficTotalsTest, ADeviceWithoutTrafficIsThereWithZero) {
  LeaseRecord record = Record("t1", {"d0"});
  record.counters->page()->retired[0] = {};
  TrafficTotals totals;

  totals.Add(record);

  EXPECT_EQ(totals.by_tenant_and_device().at({"t1", "d0"}).ops[0].bytes, 0U);
}

}  // namespace
}  // namespace rb::agent
