#include "agent/rest/node_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/agent_process.h"

namespace rb::agent {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class NodeMetricsTest : public ::testing::Test {
 protected:
  NodeMetricsTest() {
    node_.core.metrics.AddCollector([this](MetricsWriter& out) { metrics_.Collect(out); });
  }

  std::string Text() { return node_.core.metrics.Text(); }
  double Value(const std::string& name, const std::string& labels) {
    return node_.Metric(name, labels);
  }

  wire::CountersPage& Page(const std::string& lease) {
    return *node_.Lease(lease).counters->page();
  }

  test::AgentWithProcess node_;
  NodeMetrics metrics_{node_.core.node, node_.core.leases, node_.core.ended_traffic,
                       node_.kernel.cgroups, node_.kernel.resources};
};

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST_F(NodeMetricsTest, EveryPhaseIsThereAlsoWithoutALease) {
  for (const char* phase :
       {"pending", "active", "draining", "released", "expired", "revoked", "failed"}) {
    EXPECT_THAT(Text(), HasSubstr("rdma_agent_leases{phase=\"" + std::string(phase) + "\"} 0\n"));
  }
}

TEST_F(NodeMetricsTest, LeasesAreCountedByPhase) {
  node_.AddLease(R"({"spec": {"tenant": "alice"}})");
  node_.AddLease(R"({"spec": {"tenant": "bob"}})");
  node_.Revoke(node_.AddLease(R"({"spec": {"tenant": "carol"}})").id);

  EXPECT_EQ(Value("rdma_agent_leases", R"(phase="active")"), 2);
  EXPECT_EQ(Value("rdma_agent_leases", R"(phase="revoked")"), 1);
}

TEST_F(NodeMetricsTest, ALeaseShowsWhatItHoldsAndMayHold) {
  const CreatedLease lease =
      node_.AddLease(R"({"spec": {"tenant": "alice", "limits": {"qps": 16}}})");
  Page(lease.id).used[wire::Index(wire::Limit::kQps)] = 3;
  const std::string labels = R"(tenant="alice",limit="qps",lease=")" + lease.id + "\"";

  EXPECT_EQ(Value("rdma_agent_limit_used", labels), 3);
  EXPECT_EQ(Value("rdma_agent_limit_max", labels), 16);
}

TEST_F(NodeMetricsTest, EveryLimitOfTheTableIsALabel) {
  const CreatedLease lease = node_.AddLease(R"({"spec": {"tenant": "alice"}})");
  for (const wire::LimitRow& row : wire::kLimitTable) {
    const std::string labels =
        R"(tenant="alice",lease=")" + lease.id + R"(",limit=")" + row.name + "\"";
    EXPECT_EQ(Value("rdma_agent_limit_max", labels), static_cast<double>(row.default_value))
        << row.name;
  }
}

TEST_F(NodeMetricsTest, AnEndedLeaseHoldsNothingAnyMore) {
  const CreatedLease lease = node_.AddLease(R"({"spec": {"tenant": "alice"}})");
  node_.Revoke(lease.id);

  EXPECT_THAT(Text(), Not(HasSubstr(lease.id)));
}

TEST_F(NodeMetricsTest, TheKernelsOwnCountStandsBesideTheShims) {
  const CreatedLease lease = node_.AddLease(R"({"spec": {"tenant": "alice"}})");
  node_.kernel.cgroups.Charge(node_.Lease(lease.id).cgroup, "rxe0", 2);
  const std::string labels = R"(tenant="alice",device="rxe0",lease=")" + lease.id + "\"";

  EXPECT_EQ(Value("rdma_agent_kernel_contexts", labels), 2);
  EXPECT_THAT(Text(), HasSubstr("\nrdma_agent_kernel_objects{"));
}

TEST_F(NodeMetricsTest, TrafficIsByTenantDeviceOperationAndSource) {
  const CreatedLease lease = node_.AddLease(R"({"spec": {"tenant": "alice"}})");
  wire::CounterSlot& slot = Page(lease.id).slots[0];
  slot.state = static_cast<std::uint32_t>(wire::SlotState::kOpen);
  slot.ops[static_cast<std::size_t>(wire::Op::kWrite)] = {.messages = 2, .bytes = 8192};
  slot.throttled_ns = 1'500'000'000;
  const std::string labels = R"(tenant="alice",device="rxe0",op="write",source="shim")";

  EXPECT_EQ(Value("rdma_agent_bytes_total", labels), 8192);
  EXPECT_EQ(Value("rdma_agent_messages_total", labels), 2);
  EXPECT_EQ(Value("rdma_agent_throttled_seconds_total", R"(device="rxe0",tenant="alice")"), 1.5);
}

TEST_F(NodeMetricsTest, ATenantsTrafficDoesNotFallWhenALeaseEnds) {
  const std::string name = "rdma_agent_bytes_total";
  const std::string labels = R"(tenant="alice",device="rxe0",op="send",source="shim")";
  const CreatedLease first = node_.AddLease(R"({"spec": {"tenant": "alice"}})");
  Page(first.id).retired[0].ops[0] = {.messages = 1, .bytes = 100};
  const double before = Value(name, labels);
  node_.Revoke(first.id);
  const double after = Value(name, labels);
  const CreatedLease second = node_.AddLease(R"({"spec": {"tenant": "alice"}})");
  Page(second.id).retired[0].ops[0] = {.messages = 1, .bytes = 11};

  EXPECT_EQ(before, 100);
  EXPECT_EQ(after, 100);
  EXPECT_EQ(Value(name, labels), 111);
}

TEST_F(NodeMetricsTest, DevicesShowTheKernelsObjectsAndTheirPorts) {
  node_.kernel.resources.devices["rxe1"].qps.resize(4);
  node_.kernel.inventory.inventory.devices[1].ports[0].state = rdma::PortState::kDown;
  ASSERT_TRUE(test::RunTask(node_.core.loop, node_.core.node.Refresh()));

  EXPECT_EQ(Value("rdma_agent_device_objects", R"(device="rxe1",type="qp")"), 4);
  EXPECT_EQ(Value("rdma_agent_port_up", R"(device="rxe0",port="1")"), 1);
  EXPECT_THAT(Text(), HasSubstr(R"(rdma_agent_port_up{device="rxe1",port="1"} 0)"));
}

TEST_F(NodeMetricsTest, APortIsShownAlsoWhenTheKernelCannotCountTheDevice) {
  node_.kernel.resources.devices.clear();

  EXPECT_EQ(Value("rdma_agent_port_up", R"(device="rxe0",port="1")"), 1);
  EXPECT_THAT(Text(), Not(HasSubstr("rdma_agent_device_objects{")));
}

// --- The conventions of the format, which a scraper relies on ---

struct Families {
  std::map<std::string, std::string> types;
  std::set<std::string> helped;
  std::vector<std::string> samples;  // metric names, one per line
};

Families Parse(const std::string& text) {
  Families families;
  for (const std::string& line : Lines(text)) {
    std::istringstream words(line);
    std::string hash;
    std::string keyword;
    std::string name;
    if (line.starts_with("# ")) {
      words >> hash >> keyword >> name;
      if (keyword == "TYPE") words >> families.types[name];
      if (keyword == "HELP") families.helped.insert(name);
    } else if (!line.empty()) {
      families.samples.push_back(line.substr(0, line.find_first_of("{ ")));
    }
  }
  return families;
}

TEST_F(NodeMetricsTest, EveryFamilyHasATypeAHelpAndAConventionalName) {
  const CreatedLease lease = node_.AddLease(R"({"spec": {"tenant": "alice"}})");
  node_.kernel.cgroups.Charge(node_.Lease(lease.id).cgroup, "rxe0", 1);

  const Families families = Parse(Text());

  for (const auto& [name, type] : families.types) {
    EXPECT_THAT(families.helped, Contains(name));
    EXPECT_EQ(type == "counter", name.ends_with("_total")) << name << " is a " << type;
    for (const char c : name) {
      EXPECT_TRUE(std::islower(static_cast<unsigned char>(c)) != 0 || c == '_') << name;
    }
  }
  for (const std::string& sample : families.samples) {
    EXPECT_TRUE(families.types.contains(sample)) << sample;
  }
}

TEST_F(NodeMetricsTest, TheNamesAreThoseOfTheDocument) {
  const CreatedLease lease = node_.AddLease(R"({"spec": {"tenant": "alice"}})");
  node_.kernel.cgroups.Charge(node_.Lease(lease.id).cgroup, "rxe0", 1);
  std::set<std::string> ours;
  for (const auto& [name, type] : Parse(Text()).types) {
    if (name.starts_with("rdma_agent_")) ours.insert(name);
  }

  EXPECT_EQ(ours,
            (std::set<std::string>{"rdma_agent_bytes_total", "rdma_agent_device_objects",
                                   "rdma_agent_kernel_contexts", "rdma_agent_kernel_objects",
                                   "rdma_agent_leases", "rdma_agent_limit_max",
                                   "rdma_agent_limit_used", "rdma_agent_messages_total",
                                   "rdma_agent_port_up", "rdma_agent_throttled_seconds_total"}));
}

}  // namespace
}  // namespace rb::agent
