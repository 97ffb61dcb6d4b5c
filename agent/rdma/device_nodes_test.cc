#include "agent/rdma/device_nodes.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "agent/rdma/device_opener.h"
#include "tests/support/temp_tree.h"

namespace rb::agent::rdma {
namespace {

using test::TempTree;

// The number of /dev/null: a character device that every machine has and anybody may open.
constexpr unsigned kNullMajor = 1;
constexpr unsigned kNullMinor = 3;

// Makes a device node below infiniband/; false without the right to.
bool MakeNode(TempTree& tree, const std::string& name, mode_t mode) {
  tree.Write("infiniband/.keep", "");
  const std::string path = tree.Path("infiniband/" + name);
  return ::mknod(path.c_str(), S_IFCHR | 0600, ::makedev(kNullMajor, kNullMinor)) == 0 &&
         ::chmod(path.c_str(), mode) == 0;
}

mode_t ModeOf(const TempTree& tree, const std::string& name) {
  struct stat status{};
  EXPECT_EQ(::stat(tree.Path("infiniband/" + name).c_str(), &status), 0);
  return status.st_mode & 07777;
}

#define SKIP_WITHOUT_MKNOD(made) \
  if (!(made)) GTEST_SKIP() << "needs CAP_MKNOD"

TEST(DeviceNodesTest, TakesEveryWayToADeviceAndNothingElse) {
  TempTree dev;
  SKIP_WITHOUT_MKNOD(MakeNode(dev, "uverbs0", 0666));
  ASSERT_TRUE(MakeNode(dev, "umad0", 0640));
  ASSERT_TRUE(MakeNode(dev, "issm0", 0600));
  ASSERT_TRUE(MakeNode(dev, "rdma_cm", 0666));
  dev.Write("infiniband/uverbs_not_a_node", "");
  LinuxDeviceNodes nodes(dev.root().string());

  const auto changes = nodes.Restrict();

  ASSERT_TRUE(changes);
  EXPECT_EQ(*changes,
            (std::vector<NodeChange>{
                {.name = "umad0", .mode_before = 0640, .uid_before = 0, .gid_before = 0},
                {.name = "uverbs0", .mode_before = 0666, .uid_before = 0, .gid_before = 0}}));
  EXPECT_EQ(ModeOf(dev, "uverbs0"), 0600U);
  EXPECT_EQ(ModeOf(dev, "umad0"), 0600U);
  EXPECT_EQ(ModeOf(dev, "rdma_cm"), 0666U);
  EXPECT_NE(ModeOf(dev, "uverbs_not_a_node"), 0600U);
}

TEST(DeviceNodesTest, TakesANodeBackFromItsOwner) {
  TempTree dev;
  SKIP_WITHOUT_MKNOD(MakeNode(dev, "uverbs0", 0600));
  ASSERT_EQ(::chown(dev.Path("infiniband/uverbs0").c_str(), 1000, 1001), 0);
  LinuxDeviceNodes nodes(dev.root().string());

  const auto changes = nodes.Restrict();

  ASSERT_TRUE(changes);
  ASSERT_EQ(changes->size(), 1U);
  EXPECT_EQ(changes->front().uid_before, 1000U);
  EXPECT_EQ(changes->front().gid_before, 1001U);
  struct stat status{};
  ASSERT_EQ(::stat(dev.Path("infiniband/uverbs0").c_str(), &status), 0);
  EXPECT_EQ(status.st_uid, 0U);
  EXPECT_EQ(status.st_gid, 0U);
}

TEST(DeviceNodesTest, TheSecondTimeChangesNothing) {
  TempTree dev;
  SKIP_WITHOUT_MKNOD(MakeNode(dev, "uverbs0", 0666));
  LinuxDeviceNodes nodes(dev.root().string());
  ASSERT_TRUE(nodes.Restrict());

  const auto again = nodes.Restrict();

  ASSERT_TRUE(again);
  EXPECT_TRUE(again->empty());
}

TEST(DeviceNodesTest, ANodeWithoutTheDirectoryHasNoNodes) {
  const TempTree dev;
  LinuxDeviceNodes nodes(dev.root().string());

  const auto changes = nodes.Restrict();

  ASSERT_TRUE(changes);
  EXPECT_TRUE(changes->empty());
}

TempTree SysfsOf(const std::string& number) {
  return {{"class/infiniband_verbs/uverbs0/ibdev", "mlx5_0\n"},
          {"class/infiniband_verbs/uverbs0/dev", number + "\n"}};
}

TEST(DeviceOpenerTest, OpensTheNodeWithTheDevicesNumber) {
  TempTree dev;
  SKIP_WITHOUT_MKNOD(MakeNode(dev, "uverbs0", 0600));
  const TempTree sysfs = SysfsOf("1:3");
  LinuxDeviceOpener opener(sysfs.root().string(), dev.root().string());

  const auto fd = opener.Open("mlx5_0");

  if (!fd && fd.error().code == ErrorCode::kDenied) GTEST_SKIP() << "nodev: " << fd.error().message;
  ASSERT_TRUE(fd) << fd.error().message;
  EXPECT_EQ(::write(fd->get(), "x", 1), 1);  // open for writing too
}

TEST(DeviceOpenerTest, AnotherDevicesNodeIsNotHandedOut) {
  TempTree dev;
  SKIP_WITHOUT_MKNOD(MakeNode(dev, "uverbs0", 0600));
  const TempTree sysfs = SysfsOf("1:5");
  LinuxDeviceOpener opener(sysfs.root().string(), dev.root().string());

  const auto fd = opener.Open("mlx5_0");

  ASSERT_FALSE(fd);
  if (fd.error().code == ErrorCode::kDenied) GTEST_SKIP() << "nodev: " << fd.error().message;
  EXPECT_EQ(fd.error().code, ErrorCode::kUnavailable);
}

TEST(DeviceOpenerTest, AFileInTheNodesPlaceIsNotHandedOut) {
  const TempTree dev{{"infiniband/uverbs0", ""}};
  const TempTree sysfs = SysfsOf("1:3");
  LinuxDeviceOpener opener(sysfs.root().string(), dev.root().string());

  EXPECT_EQ(opener.Open("mlx5_0").error().code, ErrorCode::kUnavailable);
}

TEST(DeviceOpenerTest, ANodeThatUdevHasNotMadeYetIsUnavailable) {
  const TempTree dev;
  const TempTree sysfs = SysfsOf("1:3");
  LinuxDeviceOpener opener(sysfs.root().string(), dev.root().string());

  EXPECT_EQ(opener.Open("mlx5_0").error().code, ErrorCode::kUnavailable);
}

TEST(DeviceOpenerTest, UnknownAndImpossibleNames) {
  const TempTree dev;
  const TempTree sysfs = SysfsOf("1:3");
  LinuxDeviceOpener opener(sysfs.root().string(), dev.root().string());

  EXPECT_EQ(opener.Open("mlx5_9").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(opener.Open("../etc").error().code, ErrorCode::kInvalid);
}

}  // namespace
}  // namespace rb::agent::rdma
