#include "shim/device_path.h"

#include <gtest/gtest.h>

namespace rb::shim {
namespace {

TEST(DevicePathTest, KnowsUverbsNodes) {
  const DevicePath path = ParseDevicePath("/dev/infiniband/uverbs12");

  EXPECT_EQ(path.kind, PathKind::kUverbs);
  EXPECT_STREQ(path.node.data(), "uverbs12");
}

TEST(DevicePathTest, SeesThroughSlashesAndDots) {
  EXPECT_EQ(ParseDevicePath("//dev/./infiniband//uverbs0").kind, PathKind::kUverbs);
  EXPECT_EQ(ParseDevicePath("/./dev/infiniband/././uverbs0").kind, PathKind::kUverbs);
}

TEST(DevicePathTest, KnowsDevicesByNumber) {
  const DevicePath path = ParseDevicePath("/dev/char/231:192");

  EXPECT_EQ(path.kind, PathKind::kCharDevice);
  EXPECT_EQ(path.major, 231U);
  EXPECT_EQ(path.minor, 192U);
}

class OtherPathTest : public ::testing::TestWithParam<const char*> {};

TEST_P(OtherPathTest, IsLeftToTheKernel) {
  EXPECT_EQ(ParseDevicePath(GetParam()).kind, PathKind::kOther);
}

INSTANTIATE_TEST_SUITE_P(
    Paths, OtherPathTest,
    ::testing::Values("", "/", "/dev", "/dev/infiniband", "/dev/infiniband/", "uverbs0",
                      "dev/infiniband/uverbs0", "/dev/infiniband/uverbs",
                      "/dev/infiniband/uverbs0x", "/dev/infiniband/uverbs0/x",
                      "/dev/infiniband/umad0", "/dev/infiniband/rdma_cm",
                      "/dev/infinibandx/uverbs0", "/devinfiniband/uverbs0", "/dev/char/231",
                      "/dev/char/231:", "/dev/char/:1", "/dev/char/1:2x", "/dev/char/4294967296:0",
                      "/dev/infiniband/uverbs4294967296", "/sys/class/infiniband_verbs/uverbs0"));

TEST(DevicePathTest, TakesNull) { EXPECT_EQ(ParseDevicePath(nullptr).kind, PathKind::kOther); }

}  // namespace
}  // namespace rb::shim
