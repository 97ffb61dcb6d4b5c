#include "shim/devices.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>

namespace rb::shim {
namespace {

// What a lease answers is shown by tests/integration/shim, in a process that has an agent.

TEST(OwnerOfTest, UverbsNodesAreOursWhateverLiesInDev) {
  EXPECT_EQ(OwnerOf(ParseDevicePath("/dev/infiniband/uverbs0")), Whose::kOurs);
}

TEST(OwnerOfTest, OtherFilesAndOtherDevicesAreTheKernels) {
  EXPECT_EQ(OwnerOf(ParseDevicePath("/dev/infiniband/rdma_cm")), Whose::kKernel);
  EXPECT_EQ(OwnerOf(ParseDevicePath("/dev/char/1:3")), Whose::kKernel);  // /dev/null
  EXPECT_EQ(OwnerOf(ParseDevicePath("/etc/passwd")), Whose::kKernel);
}

TEST(DevicesTest, WithoutAnAgentNoDeviceExists) {
  ::setenv("RDMA_AGENT_SOCKET", "/nonexistent/agent.sock", 1);
  const DevicePath path = ParseDevicePath("/dev/infiniband/uverbs0");
  struct stat status{};
  struct statx extended{};
  int fd = -1;

  EXPECT_EQ(StatDevice(path, &status), ENOENT);
  EXPECT_EQ(StatxDevice(path, &extended), ENOENT);
  EXPECT_EQ(AccessDevice(path, 0), ENOENT);
  EXPECT_EQ(OpenDevice(path, 0, &fd), ENOENT);
  EXPECT_EQ(fd, -1);
}

}  // namespace
}  // namespace rb::shim
