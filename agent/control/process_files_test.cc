#include "agent/control/process_files.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <limits>

namespace rb::agent {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::Not;

// Character devices that every machine has; the kernel numbers them so for ever.
constexpr DeviceNumber kFull{.major = 1, .minor = 7};
constexpr DeviceNumber kZero{.major = 1, .minor = 5};

UniqueFd Open(const char* path) { return UniqueFd(::open(path, O_RDWR | O_CLOEXEC)); }

TEST(LinuxProcessFilesTest, FindsTheDescriptorsOfADevice) {
  LinuxProcessFiles files;
  const UniqueFd full = Open("/dev/full");
  const UniqueFd again(::dup(full.get()));
  const UniqueFd zero = Open("/dev/zero");

  const auto found = files.Find(::getpid(), {kFull});

  ASSERT_TRUE(found) << found.error().message;
  const OpenFile of_zero{.fd = zero.get(), .device = kZero};
  const OpenFile first{.fd = full.get(), .device = kFull};
  const OpenFile second{.fd = again.get(), .device = kFull};
  EXPECT_THAT(*found, Contains(first));
  EXPECT_THAT(*found, Contains(second));
  EXPECT_THAT(*found, Not(Contains(of_zero)));
}

TEST(LinuxProcessFilesTest, AFileOfAnotherKindIsNotADevice) {
  LinuxProcessFiles files;
  const UniqueFd directory(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));

  EXPECT_THAT(files.Find(::getpid(), {DeviceNumber{}}).value(), IsEmpty());
}

TEST(LinuxProcessFilesTest, AProcessThatIsGoneIsNotFound) {
  LinuxProcessFiles files;
  constexpr pid_t kNobody = std::numeric_limits<pid_t>::max();

  EXPECT_EQ(files.Find(kNobody, {kFull}).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(files.Take(kNobody, {.fd = 0, .device = kFull}).error().code, ErrorCode::kNotFound);
}

TEST(LinuxProcessFilesTest, TakesADuplicate) {
  LinuxProcessFiles files;
  const UniqueFd full = Open("/dev/full");

  const auto taken = files.Take(::getpid(), {.fd = full.get(), .device = kFull});

  ASSERT_TRUE(taken) << taken.error().message;
  EXPECT_NE(taken->get(), full.get());
  EXPECT_EQ(::write(taken->get(), "x", 1), -1);  // it is /dev/full
  EXPECT_EQ(errno, ENOSPC);
}

TEST(LinuxProcessFilesTest, ADescriptorThatIsAnotherDeviceByNowIsNotTaken) {
  LinuxProcessFiles files;
  const UniqueFd zero = Open("/dev/zero");

  const auto taken = files.Take(::getpid(), {.fd = zero.get(), .device = kFull});

  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, ErrorCode::kNotFound);
}

TEST(LinuxProcessFilesTest, ADescriptorThatWasClosedIsNotTaken) {
  LinuxProcessFiles files;

  EXPECT_EQ(files.Take(::getpid(), {.fd = 9999, .device = kFull}).error().code,
            ErrorCode::kNotFound);
}

}  // namespace
}  // namespace rb::agent
