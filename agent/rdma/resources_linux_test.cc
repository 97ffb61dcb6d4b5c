#include "agent/rdma/resources_linux.h"

#include <gtest/gtest.h>
#include <rdma/rdma_netlink.h>

#include <string>

#include "agent/rdma/netlink_attributes.h"
#include "tests/fakes/fake_rdma_nldev.h"

namespace rb::agent::rdma {
namespace {

NldevAnswer OneDevice(std::uint32_t index) {
  DeviceRow row;
  row.index = index;
  row.name = "rxe0";
  return {EncodeDeviceRow(row, 1)};
}

TEST(LinuxResourcesTest, AsksForTheDevicesTable) {
  FakeNldev nldev;
  nldev.Add(RDMA_NLDEV_CMD_GET, OneDevice(6));
  nldev.Add(RDMA_NLDEV_CMD_RES_CTX_GET, NldevAnswer{});
  LinuxResources resources(nldev);

  const auto rows = resources.Contexts("rxe0");

  ASSERT_TRUE(rows);
  EXPECT_TRUE(rows->empty());
  std::string device_six;
  PutNumber32(device_six, RDMA_NLDEV_ATTR_DEV_INDEX, 6);
  EXPECT_EQ(nldev.requests.back(),
            (NldevRequest{
                .command = RDMA_NLDEV_CMD_RES_CTX_GET, .dump = true, .attributes = device_six}));
}

TEST(LinuxResourcesTest, TheSummaryIsOneQuestionNotADump) {
  FakeNldev nldev;
  nldev.Add(RDMA_NLDEV_CMD_GET, OneDevice(0));
  nldev.Add(RDMA_NLDEV_CMD_RES_GET, NldevAnswer{});
  LinuxResources resources(nldev);

  ASSERT_TRUE(resources.Summary("rxe0"));

  EXPECT_FALSE(nldev.requests.back().dump);
}

TEST(LinuxResourcesTest, AnUnknownDeviceIsNotFound) {
  FakeNldev nldev;
  nldev.Add(RDMA_NLDEV_CMD_GET, OneDevice(0));
  LinuxResources resources(nldev);

  EXPECT_EQ(resources.Qps("mlx5_0").error().code, ErrorCode::kNotFound);
}

TEST(LinuxResourcesTest, ACommandThatTheKernelDoesNotKnowIsUnsupported) {
  FakeNldev nldev;
  nldev.Add(RDMA_NLDEV_CMD_GET, OneDevice(0));
  LinuxResources resources(nldev);

  EXPECT_EQ(resources.Srqs("rxe0").error().code, ErrorCode::kUnsupported);
}

TEST(LinuxResourcesTest, ADeviceThatWentMeanwhileIsNotFound) {
  FakeNldev nldev;
  nldev.Add(RDMA_NLDEV_CMD_GET, OneDevice(0));
  nldev.Add(RDMA_NLDEV_CMD_GET, NldevAnswer{});
  LinuxResources resources(nldev);

  EXPECT_EQ(resources.Mrs("rxe0").error().code, ErrorCode::kNotFound);
}

TEST(LinuxResourcesTest, ADeviceThatWasReAddedMeanwhileCanBeAskedAgain) {
  FakeNldev nldev;
  nldev.Add(RDMA_NLDEV_CMD_GET, OneDevice(0));
  nldev.Add(RDMA_NLDEV_CMD_GET, OneDevice(1));
  LinuxResources resources(nldev);

  EXPECT_EQ(resources.Cqs("rxe0").error().code, ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace rb::agent::rdma
