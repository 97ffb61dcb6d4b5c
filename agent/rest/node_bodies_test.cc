#include "agent/rest/node_bodies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "tests/support/agent_process.h"

namespace rb::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const HostFacts kHost{.version = "1.2.3", .boot_id = "boot-1", .kernel_release = "6.1.0"};

LeaseRecord Lease(std::string id, std::vector<std::string> devices, rest::Phase phase) {
  LeaseRecord lease;
  lease.metadata.name = std::move(id);
  lease.spec.tenant = "alice";
  lease.grant.devices = std::move(devices);
  lease.phase = phase;
  return lease;
}

class NodeBodyTest : public ::testing::Test {
 protected:
  // A second view of the fake node, with other traits.
  rest::Node BodyOf(bool has_rdma_controller) {
    NodeView view(node_.core.pool, node_.kernel.inventory, node_.core.events,
                  {.name = "node-a",
                   .classes = {{"storage", {.traffic_class = 26 << 2, .sl = 3}}},
                   .has_rdma_controller = has_rdma_controller});
    RB_CHECK(test::RunTask(node_.core.loop, view.Refresh()).has_value());
    return NodeBody(view, kHost, 5, 60);
  }

  test::AgentWithProcess node_;
};

TEST_F(NodeBodyTest, CarriesHostCountsAndClasses) {
  const rest::Node body = BodyOf(true);

  EXPECT_EQ(body.name, "node-a");
  EXPECT_EQ(body.version, "1.2.3");
  EXPECT_EQ(body.boot_id, "boot-1");
  EXPECT_EQ(body.kernel, "6.1.0");
  EXPECT_EQ(body.netns_mode, "shared");
  EXPECT_EQ(body.device_count, 2U);
  EXPECT_EQ(body.active_leases, 5U);
  EXPECT_EQ(body.uptime_seconds, 60U);
  EXPECT_THAT(body.traffic_classes,
              ElementsAre(rest::TrafficClass{.name = "storage", .dscp = 26, .sl = 3}));
}

TEST_F(NodeBodyTest, NamesTheLevelOfEverythingThatALeaseCanAsk) {
  const rest::Node body = BodyOf(true);

  EXPECT_EQ(body.enforcement.size(), wire::kLimitCount + 2);
  EXPECT_EQ(body.enforcement.at("contexts"), "kernel");
  EXPECT_EQ(body.enforcement.at("qps"), "shim");
  EXPECT_EQ(body.enforcement.at("rate"), "shim");
  EXPECT_EQ(body.enforcement.at("traffic_class"), "shim");
  EXPECT_THAT(body.warnings, IsEmpty());
}

TEST_F(NodeBodyTest, WithoutAnRdmaControllerNothingIsTheKernels) {
  const rest::Node body = BodyOf(false);

  EXPECT_EQ(body.enforcement.at("contexts"), "shim");
  EXPECT_THAT(body.warnings, ElementsAre(HasSubstr("no rdma cgroup controller")));
}

TEST_F(NodeBodyTest, WarnsOfExclusiveNetworkNamespaces) {
  node_.kernel.inventory.inventory.netns_mode = rdma::NetnsMode::kExclusive;

  const rest::Node body = BodyOf(true);

  EXPECT_EQ(body.netns_mode, "exclusive");
  EXPECT_THAT(body.warnings, ElementsAre(HasSubstr("exclusive mode")));
}

TEST(DeviceBodyTest, CarriesTheNicsOwnLimitsPortsAndCounts) {
  const rdma::Device device = rdma::FakeRxeDevice(0);

  const rest::Device body = DeviceBody(device, {{"qp", 7}, {"mr", 1}}, {});

  EXPECT_EQ(body.name, "rxe0");
  EXPECT_EQ(body.uverbs, "uverbs0");
  EXPECT_EQ(body.driver, "rxe");
  EXPECT_EQ(body.node_guid, device.node_guid);
  EXPECT_EQ(body.pci_address, "");
  EXPECT_EQ(body.limits.at("max_qp"), 1'000'000U);
  EXPECT_EQ(body.limits.at("max_mr"), 524'287U);
  EXPECT_THAT(body.limits, SizeIs(12));
  EXPECT_EQ(body.kernel_objects.at("qp"), 7U);
  ASSERT_THAT(body.ports, SizeIs(1));
  EXPECT_EQ(body.ports[0].state, "active");
  EXPECT_EQ(body.ports[0].link_layer, "ethernet");
  EXPECT_EQ(body.ports[0].rate_bits_per_second, 2'500'000'000U);
  EXPECT_EQ(body.ports[0].netdev, "veth0");
  ASSERT_THAT(body.ports[0].gids, SizeIs(1));
  EXPECT_EQ(body.ports[0].gids[0].type, "RoCE v2");
}

TEST(DeviceBodyTest, ADeviceThatCouldNotBeAskedHasNoLimits) {
  rdma::Device device = rdma::FakeRxeDevice(0);
  device.limits.reset();

  EXPECT_THAT(DeviceBody(device, {}, {}).limits, IsEmpty());
}

TEST(DeviceBodyTest, NamesTheLiveLeasesThatHaveIt) {
  LeaseTable leases;
  leases.Insert(Lease("lease-1", {"rxe0", "rxe1"}, rest::Phase::kActive));
  leases.Insert(Lease("lease-2", {"rxe1"}, rest::Phase::kActive));
  leases.Insert(Lease("lease-3", {"rxe0"}, rest::Phase::kDraining));
  leases.Insert(Lease("lease-4", {"rxe0"}, rest::Phase::kRevoked));

  const rest::Device body = DeviceBody(rdma::FakeRxeDevice(0), {}, leases);

  EXPECT_THAT(body.leases, testing::UnorderedElementsAre("lease-1", "lease-3"));
}

TEST(ProcessBodyTest, CountsTheFilesThatTheProcessOpened) {
  LeaseTable leases;
  LeaseRecord lease = Lease("lease-1", {"rxe0"}, rest::Phase::kActive);
  lease.slots = {{.slot = 0, .device = "rxe0", .opener = 41, .context = {}},
                 {.slot = 1, .device = "rxe0", .opener = 42, .context = {}},
                 {.slot = 2, .device = "rxe0", .opener = 41, .context = {}}};
  leases.Insert(std::move(lease));

  const rest::Process body = ProcessBody({.pid = 41,
                                          .start_time_ticks = 1,
                                          .uid = 1000,
                                          .command = "train",
                                          .lease = "lease-1",
                                          .attached_at = "2026-01-01T00:00:00Z"},
                                         leases);

  EXPECT_EQ(body, (rest::Process{.pid = 41,
                                 .uid = 1000,
                                 .command = "train",
                                 .lease = "lease-1",
                                 .tenant = "alice",
                                 .open_files = 2,
                                 .attached_at = "2026-01-01T00:00:00Z"}));
}

TEST(ProcessBodyTest, AProcessOfAForgottenLeaseIsStillShown) {
  const Attachment attachment{.pid = 41,
                              .start_time_ticks = 1,
                              .uid = 1000,
                              .command = "train",
                              .lease = "lease-1",
                              .attached_at = "2026-01-01T00:00:00Z"};

  const rest::Process body = ProcessBody(attachment, {});

  EXPECT_EQ(body.lease, "lease-1");
  EXPECT_EQ(body.tenant, "");
  EXPECT_EQ(body.open_files, 0U);
}

}  // namespace
}  // namespace rb::agent
