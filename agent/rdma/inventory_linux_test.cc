#include "agent/rdma/inventory_linux.h"

#include <gtest/gtest.h>
#include <rdma/rdma_netlink.h>

#include <string>
#include <utility>

#include "agent/rdma/netlink_attributes.h"
#include "tests/fakes/fake_rdma_inventory.h"
#include "tests/fakes/fake_rdma_nldev.h"
#include "tests/support/temp_tree.h"

namespace rb::agent::rdma {
namespace {

using test::TempTree;

std::string SharedMode() {
  std::string bytes;
  PutNumber8(bytes, RDMA_NLDEV_SYS_ATTR_NETNS_MODE, 1);
  return bytes;
}

DeviceRow RxeRow(std::uint32_t index) {
  return {.index = index,
          .name = "rxe0",
          .port_count = 1,
          .capability_flags = 1U << 13,
          .firmware = "",
          .node_guid = 0x505400fffe000001,
          .sys_image_guid = 0x505400fffe000001,
          .node_type = NodeType::kChannelAdapter,
          .protocol = "roce"};
}

const CharDevice kNode{.name = "uverbs0", .major = 231, .minor = 192, .driver_id = 14};
const PortRow kPort{
    .number = 1, .state = PortState::kActive, .lid = 0, .sm_lid = 0, .netdev = "veth0"};

// One rxe device on veth0 and everything that the reader asks.
class InventoryReaderTest : public testing::Test {
 protected:
  InventoryReaderTest() {
    query.answer->limits.max_qp = 100;
    query.answer->mtus[1] = {.active_bytes = 1024, .max_bytes = 4096};
  }

  void AddAnswers() {
    nldev.Add(RDMA_NLDEV_CMD_GET, NldevAnswer{EncodeDeviceRow(RxeRow(0), 1)});
    nldev.Add(RDMA_NLDEV_CMD_SYS_GET, NldevAnswer{SharedMode()});
    nldev.Add(RDMA_NLDEV_CMD_GET_CHARDEV, NldevAnswer{EncodeCharDevice(kNode)});
    nldev.Add(RDMA_NLDEV_CMD_PORT_GET, NldevAnswer{EncodePortRow(kPort)});
  }

  TempTree tree{{"class/infiniband/rxe0/ports/1/link_layer", "Ethernet\n"},
                {"class/infiniband/rxe0/ports/1/phys_state", "5: LinkUp\n"},
                {"class/infiniband/rxe0/ports/1/rate", "2.5 Gb/sec (1X SDR)\n"},
                {"class/net/veth0/mtu", "1500\n"}};
  FakeNldev nldev;
  FakeDeviceQuery query;
  LinuxInventoryReader reader{nldev, query, tree.root().string()};
};

TEST_F(InventoryReaderTest, PutsTheSourcesTogether) {
  AddAnswers();

  const auto inventory = reader.Read();

  ASSERT_TRUE(inventory);
  EXPECT_EQ(inventory->netns_mode, NetnsMode::kShared);
  ASSERT_EQ(inventory->devices.size(), 1U);
  const Device& device = inventory->devices.front();
  EXPECT_EQ(device.name, "rxe0");
  EXPECT_EQ(device.uverbs, "uverbs0");
  EXPECT_EQ(device.driver, "rxe");
  EXPECT_EQ(device.driver_id, 14U);
  EXPECT_EQ(device.node_guid, "5054:00ff:fe00:0001");
  EXPECT_EQ(device.capabilities, std::vector<std::string>{"srq_resize"});
  ASSERT_TRUE(device.limits);
  EXPECT_EQ(device.limits->max_qp, 100U);
  ASSERT_EQ(device.ports.size(), 1U);
  const Port& port = device.ports.front();
  EXPECT_EQ(port.state, PortState::kActive);
  EXPECT_EQ(port.link_layer, LinkLayer::kEthernet);
  EXPECT_EQ(port.rate_bits_per_second, 2'500'000'000U);
  EXPECT_EQ(port.active_mtu_bytes, 1024U);
  EXPECT_EQ(port.max_mtu_bytes, 4096U);
  EXPECT_EQ(port.netdev, "veth0");
  EXPECT_EQ(inventory->FindByNode(231, 192), &device);
  EXPECT_EQ(inventory->FindByNode(231, 193), nullptr);
}

TEST_F(InventoryReaderTest, AnIwarpGidHasNoType) {
  DeviceRow siw = RxeRow(0);
  siw.protocol = "iw";
  nldev.Add(RDMA_NLDEV_CMD_GET, NldevAnswer{EncodeDeviceRow(siw, 4)});
  AddAnswers();
  tree.Write("class/infiniband/rxe0/ports/1/gids/0", "d6b4:bcf4:51ae:0000:0000:0000:0000:0000\n");
  tree.Write("class/infiniband/rxe0/ports/1/gid_attrs/types/0", "IB/RoCE v1\n");

  const auto inventory = reader.Read();

  ASSERT_TRUE(inventory);
  ASSERT_EQ(inventory->devices.front().ports.front().gids.size(), 1U);
  EXPECT_EQ(inventory->devices.front().ports.front().gids.front().type, "");
}

TEST_F(InventoryReaderTest, AKernelWithoutRdmaHasNoDevices) {
  nldev.Add(RDMA_NLDEV_CMD_GET, Fail(ErrorCode::kUnsupported, "no rdma"));

  const auto inventory = reader.Read();

  ASSERT_TRUE(inventory);
  EXPECT_EQ(*inventory, Inventory{});
}

TEST_F(InventoryReaderTest, ADeviceThatGoesWhileItIsReadIsLeftOut) {
  nldev.Add(RDMA_NLDEV_CMD_GET, NldevAnswer{EncodeDeviceRow(RxeRow(0), 1)});
  nldev.Add(RDMA_NLDEV_CMD_SYS_GET, NldevAnswer{SharedMode()});

  const auto inventory = reader.Read();

  ASSERT_TRUE(inventory);
  EXPECT_TRUE(inventory->devices.empty());
}

TEST_F(InventoryReaderTest, AnyOtherFailureIsOne) {
  nldev.Add(RDMA_NLDEV_CMD_GET, Fail(ErrorCode::kUnavailable, "interrupted"));

  EXPECT_EQ(reader.Read().error().code, ErrorCode::kUnavailable);
}

TEST_F(InventoryReaderTest, ADeviceWithoutUserVerbsIsNotAsked) {
  nldev.Add(RDMA_NLDEV_CMD_GET, NldevAnswer{EncodeDeviceRow(RxeRow(0), 1)});
  nldev.Add(RDMA_NLDEV_CMD_SYS_GET, NldevAnswer{SharedMode()});
  nldev.Add(RDMA_NLDEV_CMD_PORT_GET, NldevAnswer{EncodePortRow(kPort)});

  const auto inventory = reader.Read();

  ASSERT_TRUE(inventory);
  ASSERT_EQ(inventory->devices.size(), 1U);
  EXPECT_EQ(inventory->devices.front().uverbs, "");
  EXPECT_FALSE(inventory->devices.front().limits);
  EXPECT_EQ(query.asked, 0);
}

TEST_F(InventoryReaderTest, AsksADeviceOnceWhileNothingChanges) {
  AddAnswers();

  ASSERT_TRUE(reader.Read());
  const auto again = reader.Read();

  ASSERT_TRUE(again);
  EXPECT_TRUE(again->devices.front().limits);
  EXPECT_EQ(query.asked, 1);
}

TEST_F(InventoryReaderTest, AsksAgainWhenAnMtuChanges) {
  AddAnswers();
  ASSERT_TRUE(reader.Read());
  tree.Write("class/net/veth0/mtu", "9000\n");
  query.answer->mtus[1].active_bytes = 4096;

  const auto again = reader.Read();

  ASSERT_TRUE(again);
  EXPECT_EQ(again->devices.front().ports.front().active_mtu_bytes, 4096U);
  EXPECT_EQ(query.asked, 2);
}

TEST_F(InventoryReaderTest, AsksAgainWhenTheDeviceWasReAdded) {
  nldev.Add(RDMA_NLDEV_CMD_GET, NldevAnswer{EncodeDeviceRow(RxeRow(9), 1)});
  AddAnswers();  // the second listing has index 0

  ASSERT_TRUE(reader.Read());
  ASSERT_TRUE(reader.Read());

  EXPECT_EQ(query.asked, 2);
}

TEST_F(InventoryReaderTest, ADeviceThatWillNotAnswerHasNoLimitsAndIsAskedAgain) {
  AddAnswers();
  query.answer.reset();
  const auto first = reader.Read();
  query.answer.emplace();

  const auto second = reader.Read();

  ASSERT_TRUE(first && second);
  EXPECT_FALSE(first->devices.front().limits);
  EXPECT_EQ(first->devices.front().ports.front().active_mtu_bytes, 0U);
  EXPECT_TRUE(second->devices.front().limits);
}

TEST(DriverNameTest, KnowsTheDriversThatUsersHave) {
  EXPECT_EQ(DriverName(1), "mlx5");
  EXPECT_EQ(DriverName(6), "bnxt_re");
  EXPECT_EQ(DriverName(9), "irdma");
  EXPECT_EQ(DriverName(17), "efa");
  EXPECT_EQ(DriverName(18), "siw");
  EXPECT_EQ(DriverName(4711), "");
}

TEST(DriverIdOfParentTest, FillsInWhatNetlinkDoesNotState) {
  EXPECT_EQ(DriverIdOfParent("hns3"), 12U);
  EXPECT_EQ(DriverIdOfParent("ib_mthca"), 5U);
  EXPECT_EQ(DriverIdOfParent("virtio_net"), 0U);
}

}  // namespace
}  // namespace rb::agent::rdma
