#include "agent/rdma/sysfs_device.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/temp_tree.h"

namespace rb::agent::rdma {
namespace {

namespace fs = std::filesystem;
using test::TempTree;

constexpr char kEmptyGid[] = "0000:0000:0000:0000:0000:0000:0000:0000\n";

void Link(const TempTree& tree, const std::string& from, const std::string& to) {
  fs::create_directories((tree.root() / from).parent_path());
  fs::create_directory_symlink(tree.root() / to, tree.root() / from);
}

TEST(ParseRateTest, ReadsWhatSysfsPrints) {
  const std::vector<std::pair<std::string, std::uint64_t>> rows{
      {"100 Gb/sec (4X EDR)\n", 100'000'000'000},
      {"2.5 Gb/sec (1X SDR)", 2'500'000'000},
      {"800 Gb/sec (4X XDR)", 800'000'000'000},
      {"0 Gb/sec (4X )", 0},
      {"", 0},
      {"fast", 0},
      {"-1 Gb/sec", 0},
      {"2.55 Gb/sec", 0},
      {". Gb/sec", 0},
  };
  for (const auto& [text, want] : rows) EXPECT_EQ(ParseRate(text), want) << text;
}

TEST(ParseDeviceNumberTest, WantsMajorAndMinor) {
  EXPECT_EQ(ParseDeviceNumber("231:192\n").value(), std::pair(231U, 192U));
  for (const char* bad : {"", "231", "231:", ":192", "231:x", "a:b", "1:2:3"}) {
    EXPECT_EQ(ParseDeviceNumber(bad).error().code, ErrorCode::kCorrupt) << bad;
  }
}

TEST(IsDeviceNameTest, RefusesWhatWouldLeaveTheDirectory) {
  EXPECT_TRUE(IsDeviceName("mlx5_0"));
  EXPECT_TRUE(IsDeviceName(std::string(63, 'a')));
  EXPECT_FALSE(IsDeviceName(std::string(64, 'a')));
  for (const char* bad : {"", ".", "..", "../x", "a/b", ".hidden"}) {
    EXPECT_FALSE(IsDeviceName(bad)) << bad;
  }
}

TEST(ReadSysfsPortTest, ListsTheUsedGidsOnly) {
  const std::string port = "class/infiniband/mlx5_0/ports/1/";
  const TempTree tree{{port + "phys_state", "5: LinkUp\n"},
                      {port + "link_layer", "Ethernet\n"},
                      {port + "rate", "100 Gb/sec (4X EDR)\n"},
                      {port + "gids/0", "fe80:0000:0000:0000:0e42:a1ff:fe00:0001\n"},
                      {port + "gids/1", kEmptyGid},
                      {port + "gids/3", "0000:0000:0000:0000:0000:ffff:0a00:0001\n"},
                      {port + "gids/2", "fe80:0000:0000:0000:0e42:a1ff:fe00:0001\n"},
                      {port + "gid_attrs/types/0", "IB/RoCE v1\n"},
                      {port + "gid_attrs/types/2", "RoCE v2\n"},
                      {port + "gid_attrs/types/3", "RoCE v2\n"},
                      {port + "gid_attrs/ndevs/0", "eth0\n"},
                      {port + "gid_attrs/ndevs/2", "eth0\n"},
                      {port + "gid_attrs/ndevs/3", "eth0.100\n"}};

  const SysfsPort read = ReadSysfsPort(tree.root().string(), "mlx5_0", 1);

  EXPECT_EQ(read.physical_state, "linkup");
  EXPECT_EQ(read.link_layer, LinkLayer::kEthernet);
  EXPECT_EQ(read.rate_bits_per_second, 100'000'000'000U);
  EXPECT_EQ(read.gid_table_length, 4U);
  const std::vector<Gid> want{
      {.index = 0,
       .gid = "fe80:0000:0000:0000:0e42:a1ff:fe00:0001",
       .type = "IB/RoCE v1",
       .netdev = "eth0"},
      {.index = 2,
       .gid = "fe80:0000:0000:0000:0e42:a1ff:fe00:0001",
       .type = "RoCE v2",
       .netdev = "eth0"},
      {.index = 3,
       .gid = "0000:0000:0000:0000:0000:ffff:0a00:0001",
       .type = "RoCE v2",
       .netdev = "eth0.100"},
  };
  EXPECT_EQ(read.gids, want);
}

TEST(ReadSysfsPortTest, APortThatIsGoneIsEmpty) {
  const TempTree tree;

  EXPECT_EQ(ReadSysfsPort(tree.root().string(), "mlx5_0", 1), SysfsPort{});
}

TEST(ReadSysfsDeviceTest, FindsThePciFunctionAndItsDriver) {
  const std::string function = "devices/pci0000:3a/0000:3a:00.0/0000:3b:00.1";
  const TempTree tree{{function + "/numa_node", "1\n"},
                      {"bus/pci/drivers/mlx5_core/bind", ""},
                      {"class/infiniband/mlx5_0/board_id", "MT_0000000359\n"}};
  Link(tree, "class/infiniband/mlx5_0/device", function);
  Link(tree, function + "/driver", "bus/pci/drivers/mlx5_core");

  const SysfsDevice read = ReadSysfsDevice(tree.root().string(), "mlx5_0");

  EXPECT_EQ(read, (SysfsDevice{.board_id = "MT_0000000359",
                               .parent_driver = "mlx5_core",
                               .pci_address = "0000:3b:00.1",
                               .numa_node = 1}));
}

TEST(ReadSysfsDeviceTest, ASubFunctionHasTheAddressOfItsPciFunction) {
  const std::string sub = "devices/pci10000:00/10000:01:00.0/mlx5_core.sf.2";
  const TempTree tree{{sub + "/numa_node", "-1\n"}};
  Link(tree, "class/infiniband/mlx5_2/device", sub);

  const SysfsDevice read = ReadSysfsDevice(tree.root().string(), "mlx5_2");

  EXPECT_EQ(read.pci_address, "10000:01:00.0");
  EXPECT_EQ(read.numa_node, std::nullopt);
}

TEST(ReadSysfsDeviceTest, AVirtualDeviceHasNothingBelowIt) {
  const TempTree tree{{"class/infiniband/rxe0/node_type", "1: CA\n"}};

  EXPECT_EQ(ReadSysfsDevice(tree.root().string(), "rxe0"), SysfsDevice{});
}

TEST(ReadInterfaceMtuTest, ZeroWhenThereIsNone) {
  const TempTree tree{{"class/net/eth0/mtu", "9000\n"}};

  EXPECT_EQ(ReadInterfaceMtu(tree.root().string(), "eth0"), 9000U);
  EXPECT_EQ(ReadInterfaceMtu(tree.root().string(), "eth1"), 0U);
  EXPECT_EQ(ReadInterfaceMtu(tree.root().string(), ""), 0U);
}

TEST(FindUverbsNodeTest, GoesByTheDeviceNotByTheNumber) {
  const TempTree tree{{"class/infiniband_verbs/abi_version", "6\n"},
                      {"class/infiniband_verbs/uverbs0/ibdev", "mlx5_1\n"},
                      {"class/infiniband_verbs/uverbs0/dev", "231:192\n"},
                      {"class/infiniband_verbs/uverbs1/ibdev", "mlx5_0\n"},
                      {"class/infiniband_verbs/uverbs1/dev", "510:3\n"}};

  const auto node = FindUverbsNode(tree.root().string(), "mlx5_0");

  ASSERT_TRUE(node);
  EXPECT_EQ(*node, (SysfsNode{.name = "uverbs1", .major = 510, .minor = 3}));
  EXPECT_EQ(FindUverbsNode(tree.root().string(), "mlx5_2").error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace rb::agent::rdma
