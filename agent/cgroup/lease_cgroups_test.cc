#include "agent/cgroup/lease_cgroups.h"

#include <gtest/gtest.h>

#include "tests/support/temp_tree.h"

namespace rb::agent {
namespace {

using test::TempTree;

TEST(ParseRdmaCurrentTest, ReadsDevicesAndCounts) {
  auto current =
      ParseRdmaCurrent("rxe0 hca_handle=1 hca_object=20\nmlx5_0 hca_handle=0 hca_object=0\n");

  ASSERT_TRUE(current);
  EXPECT_EQ(current->at("rxe0"), (RdmaCurrent{.hca_handles = 1, .hca_objects = 20}));
  EXPECT_EQ(current->at("mlx5_0"), RdmaCurrent{});
}

TEST(ParseRdmaCurrentTest, AnEmptyFileHoldsNothing) {
  auto current = ParseRdmaCurrent("");

  ASSERT_TRUE(current);
  EXPECT_TRUE(current->empty());
}

TEST(ParseRdmaCurrentTest, RefusesWhatIsNotACount) {
  EXPECT_FALSE(ParseRdmaCurrent("rxe0 hca_handle=x\n"));
  EXPECT_FALSE(ParseRdmaCurrent("rxe0 hca_handle\n"));
}

TEST(FormatRdmaMaxTest, AbsentMeansMax) {
  EXPECT_EQ(FormatRdmaMax("rxe0", {.hca_handles = 2, .hca_objects = {}}),
            "rxe0 hca_handle=2 hca_object=max\n");
  EXPECT_EQ(FormatRdmaMax("rxe0", {.hca_handles = 0, .hca_objects = 0}),
            "rxe0 hca_handle=0 hca_object=0\n");
}

TEST(LeaseCgroupsTest, PrepareEnablesTheControllerDownThePath) {
  TempTree tree{{"cgroup.controllers", "cpu memory rdma\n"},
                {"cgroup.subtree_control", ""},
                {"rdma-broker/cgroup.subtree_control", ""}};
  LinuxLeaseCgroups cgroups(tree.root().string(), "rdma-broker");

  auto has_rdma = cgroups.Prepare();

  ASSERT_TRUE(has_rdma) << has_rdma.error().message;
  EXPECT_TRUE(*has_rdma);
  EXPECT_EQ(tree.Read("cgroup.subtree_control"), "+rdma");
  EXPECT_EQ(tree.Read("rdma-broker/cgroup.subtree_control"), "+rdma");
}

TEST(LeaseCgroupsTest, AKernelWithoutTheControllerIsSaidNotHidden) {
  TempTree tree{{"cgroup.controllers", "cpu memory\n"}};
  LinuxLeaseCgroups cgroups(tree.root().string(), "rdma-broker");

  auto has_rdma = cgroups.Prepare();

  ASSERT_TRUE(has_rdma);
  EXPECT_FALSE(*has_rdma);
}

TEST(LeaseCgroupsTest, AHostWithoutCgroup2IsUnsupported) {
  TempTree tree;
  LinuxLeaseCgroups cgroups(tree.root().string(), "rdma-broker");

  auto has_rdma = cgroups.Prepare();

  ASSERT_FALSE(has_rdma);
  EXPECT_EQ(has_rdma.error().code, ErrorCode::kUnsupported);
}

TEST(LeaseCgroupsTest, CountsProcessesOfSubCgroupsToo) {
  TempTree tree{{"rdma-broker/l1/cgroup.procs", "10\n11\n"},
                {"rdma-broker/l1/sub/cgroup.procs", "12\n0\n"}};
  LinuxLeaseCgroups cgroups(tree.root().string(), "rdma-broker");

  auto pids = cgroups.Processes("/rdma-broker/l1");

  ASSERT_TRUE(pids);
  EXPECT_EQ(*pids, (std::vector<pid_t>{10, 11, 12}));
}

TEST(LeaseCgroupsTest, AMissingRdmaMaxIsUnsupportedAndNotMade) {
  TempTree tree{{"rdma-broker/l1/cgroup.procs", ""}};
  LinuxLeaseCgroups cgroups(tree.root().string(), "rdma-broker");

  auto written = cgroups.SetRdmaMax("/rdma-broker/l1", "rxe0", {});

  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::kUnsupported);
  EXPECT_FALSE(tree.Exists("rdma-broker/l1/rdma.max"));
}

// Regression: limits left on a removed cgroup panic Linux 6.1 when the device is removed.
TEST(LeaseCgroupsTest, RemovingLiftsTheLimitsFirst) {
  TempTree tree{{"rdma-broker/l1/rdma.max", "rxe0 hca_handle=4 hca_object=max\n"}};
  LinuxLeaseCgroups cgroups(tree.root().string(), "rdma-broker");

  (void)cgroups.Remove("/rdma-broker/l1");  // a plain directory with files stays

  // A real kernel file replaces the line of the device; this one is overwritten from its start.
  EXPECT_TRUE(
      tree.Read("rdma-broker/l1/rdma.max").starts_with("rxe0 hca_handle=max hca_object=max\n"));
}

TEST(LeaseCgroupsTest, RemovingWhatIsGoneIsFine) {
  TempTree tree;
  LinuxLeaseCgroups cgroups(tree.root().string(), "rdma-broker");

  EXPECT_TRUE(cgroups.Remove("/rdma-broker/l1"));
}

}  // namespace
}  // namespace rb::agent
