#include "agent/attest/process_facts.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace rb::agent {
namespace {

TEST(ParseCgroupTest, TakesTheUnifiedLineOnAHybridHost) {
  auto path = ParseCgroup("12:rdma:/\n1:name=systemd:/x\n0::/rdma-broker/lease-1\n");

  ASSERT_TRUE(path) << path.error().message;
  EXPECT_EQ(*path, "/rdma-broker/lease-1");
}

TEST(ParseCgroupTest, RefusesAHostWithoutCgroup2) {
  auto path = ParseCgroup("4:memory:/a\n");

  ASSERT_FALSE(path);
  EXPECT_EQ(path.error().code, ErrorCode::kUnsupported);
}

TEST(ParseCgroupTest, RefusesAPathOutsideTheNamespace) {
  EXPECT_FALSE(ParseCgroup("0::/../../pod1/c1\n"));
  EXPECT_FALSE(ParseCgroup("0::relative\n"));
}

TEST(ParseCgroupTest, ARemovedCgroupIsNotFound) {
  auto path = ParseCgroup("0::/rdma-broker/lease-1 (deleted)\n");

  ASSERT_FALSE(path);
  EXPECT_EQ(path.error().code, ErrorCode::kNotFound);
}

TEST(ParseStartTimeTest, IgnoresWhatTheCommandLooksLike) {
  auto ticks = ParseStartTime(
      "77 (a) R 1 (b) S 1 77 77 0 -1 4194304 100 0 0 0 1 2 3 4 20 0 1 0 123456 1000 200 1\n");

  ASSERT_TRUE(ticks) << ticks.error().message;
  EXPECT_EQ(*ticks, 123456U);
}

TEST(ParseStartTimeTest, RefusesAShortOrBrokenLine) {
  EXPECT_FALSE(ParseStartTime(""));
  EXPECT_FALSE(ParseStartTime("77 (a) S 1 2 3"));
  EXPECT_FALSE(ParseStartTime("1 (a) S 1 77 77 0 -1 4194304 100 0 0 0 1 2 3 4 20 0 1 0 x 1"));
}

TEST(ParseEffectiveUidTest, IsTheSecondNumber) {
  const auto uid =
      ParseEffectiveUid("Name:\tjob\nPid:\t7\nUid:\t1000\t1001\t1002\t1003\nGid:\t5\n");

  ASSERT_TRUE(uid) << uid.error().message;
  EXPECT_EQ(*uid, 1001U);
}

TEST(ParseEffectiveUidTest, RefusesABrokenText) {
  EXPECT_FALSE(ParseEffectiveUid(""));
  EXPECT_FALSE(ParseEffectiveUid("Uid:\t1000\n"));
  EXPECT_FALSE(ParseEffectiveUid("Uid:\t1000\tx\t1\t1\n"));
}

TEST(ProcFsTest, ReadsThisProcess) {
  const ProcFs proc;

  auto facts = proc.Read(::getpid());

  // Machines without a cgroup2 mount are told so; all others give the facts.
  if (!facts) {
    EXPECT_EQ(facts.error().code, ErrorCode::kUnsupported);
    return;
  }
  EXPECT_EQ(facts->uid, ::geteuid());
  EXPECT_EQ(facts->effective_uid, ::geteuid());
  EXPECT_GT(facts->start_time_ticks, 0U);
  EXPECT_TRUE(facts->cgroup.starts_with('/'));
}

TEST(ProcFsTest, AMissingProcessIsNotFound) {
  const ProcFs proc;

  auto facts = proc.Read(0x7FFF'FFFF);

  ASSERT_FALSE(facts);
  EXPECT_EQ(facts.error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace rb::agent
