#include "agent/control/node_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/fakes/fake_clock.h"
#include "tests/fakes/fake_rdma_inventory.h"
#include "tests/support/run_task.h"

namespace rb::agent {
namespace {

using rdma::FakeRxeDevice;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

rdma::Inventory Of(std::vector<rdma::Device> devices) {
  return {.devices = std::move(devices), .netns_mode = rdma::NetnsMode::kShared};
}

std::vector<std::string> Types(const std::vector<rest::Event>& events) {
  std::vector<std::string> types;
  for (const rest::Event& event : events) types.push_back(event.type);
  return types;
}

TEST(InventoryEventsTest, NothingChangedIsNoEvent) {
  const rdma::Inventory inventory = Of({FakeRxeDevice(0)});

  EXPECT_THAT(InventoryEvents(inventory, inventory), IsEmpty());
}

TEST(InventoryEventsTest, ADeviceThatCameAndOneThatWent) {
  const auto events = InventoryEvents(Of({FakeRxeDevice(0)}), Of({FakeRxeDevice(1)}));

  EXPECT_THAT(Types(events), ElementsAre("device_added", "device_removed"));
  EXPECT_EQ(events[0].details.at("device"), "rxe1");
  EXPECT_EQ(events[1].details.at("device"), "rxe0");
}

TEST(InventoryEventsTest, TheSameNameWithAnotherIndexIsAnotherDevice) {
  rdma::Device again = FakeRxeDevice(0);
  again.index = 9;

  EXPECT_THAT(Types(InventoryEvents(Of({FakeRxeDevice(0)}), Of({again}))),
              ElementsAre("device_added"));
}

TEST(InventoryEventsTest, APortThatWentDownIsNamedWithBothStates) {
  rdma::Device down = FakeRxeDevice(0);
  down.ports[0].state = rdma::PortState::kDown;

  const auto events = InventoryEvents(Of({FakeRxeDevice(0)}), Of({down}));

  EXPECT_THAT(Types(events), ElementsAre("port_changed"));
  EXPECT_EQ(events[0].message, "port 1 of rxe0 is down, was active");
  EXPECT_EQ(events[0].details.at("port"), "1");
}

class NodeViewTest : public ::testing::Test {
 protected:
  NodeViewTest() {
    traits_.name = "node-1";
    traits_.classes = {{"gold", {.traffic_class = 104, .sl = 3}}};
    traits_.reserved_cgroups = {"/rdma-broker"};
  }

  FakeClock clock_;
  EventLog events_{clock_};
  rdma::FakeInventory reader_;
  Loop loop_;
  BlockingPool pool_{loop_, 1};
  NodeTraits traits_;
};

TEST_F(NodeViewTest, RefreshShowsWhatIsThereAndTellsWhatChanged) {
  NodeView node(pool_, reader_, events_, traits_);
  reader_.inventory = Of({FakeRxeDevice(0)});

  ASSERT_TRUE(test::RunTask(loop_, node.Refresh()));

  EXPECT_EQ(node.inventory(), reader_.inventory);
  EXPECT_THAT(Types(events_.Since(0, 10)), ElementsAre("device_added"));
}

TEST_F(NodeViewTest, ARefreshThatFailsKeepsTheLastView) {
  NodeView node(pool_, reader_, events_, traits_);
  reader_.inventory = Of({FakeRxeDevice(0)});
  ASSERT_TRUE(test::RunTask(loop_, node.Refresh()));
  reader_.error = Error{.code = ErrorCode::kUnavailable, .message = "netlink: interrupted"};

  const auto again = test::RunTask(loop_, node.Refresh());

  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(node.inventory().Find("rxe0"), nullptr);
}

TEST_F(NodeViewTest, FactsAreWhatAdmissionDecidesWith) {
  NodeView node(pool_, reader_, events_, traits_);
  rdma::Device without_verbs = FakeRxeDevice(1);
  without_verbs.uverbs.clear();
  without_verbs.ports.clear();
  without_verbs.limits.reset();
  reader_.inventory = Of({FakeRxeDevice(0), without_verbs});
  ASSERT_TRUE(test::RunTask(loop_, node.Refresh()));

  const NodeFacts facts = node.Facts();

  EXPECT_EQ(facts.name, "node-1");
  EXPECT_EQ(facts.classes, traits_.classes);
  EXPECT_THAT(facts.reserved_cgroups, ElementsAre("/rdma-broker"));
  ASSERT_EQ(facts.devices.size(), 2U);
  EXPECT_TRUE(facts.devices[0].usable);
  EXPECT_EQ(facts.devices[0].link_layer, "ethernet");
  EXPECT_EQ(facts.devices[0].port_rate_bits_per_second, 2'500'000'000U);
  EXPECT_FALSE(facts.devices[1].usable);
  EXPECT_THAT(facts.devices[1].capacity, IsEmpty());
}

TEST_F(NodeViewTest, ALimitThatTheDriverDoesNotSayIsNoLimitButForMemoryWindows) {
  NodeView node(pool_, reader_, events_, traits_);
  reader_.inventory = Of({FakeRxeDevice(0)});
  ASSERT_TRUE(test::RunTask(loop_, node.Refresh()));

  const auto capacity = node.Facts().devices[0].capacity;

  EXPECT_EQ(capacity.at("qps"), 1'000'000U);
  EXPECT_FALSE(capacity.contains("srqs"));
  EXPECT_EQ(capacity.at("mws"), 0U);
}

TEST_F(NodeViewTest, UnpluggedDevicesAreLeftOutOfARevoke) {
  NodeView node(pool_, reader_, events_, traits_);
  reader_.inventory = Of({FakeRxeDevice(0)});
  ASSERT_TRUE(test::RunTask(loop_, node.Refresh()));

  const RevokeDevice here{.name = "rxe0", .number = {.major = 231, .minor = 192}, .driver_id = 14};
  EXPECT_THAT(node.DevicesOf({"rxe0", "rxe9"}), ElementsAre(here));
}

}  // namespace
}  // namespace rb::agent
