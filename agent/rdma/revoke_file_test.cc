#include "agent/rdma/revoke_file.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/fakes/fake_rdma_uverbs_control.h"

namespace rb::agent::rdma {
namespace {

constexpr UverbsFile kFile{.fd = 5, .driver_id = 14};

// A file with one object of a few kinds, made in the order an application makes them.
struct Tenant {
  Tenant() {
    pd = control.Add(kFile.fd, kPd);
    cq = control.Add(kFile.fd, kCq);
    mr = control.Add(kFile.fd, kMr);
    qp = control.Add(kFile.fd, kQp);
  }
  FakeUverbsControl::Object& At(std::uint32_t handle) { return control.files[kFile.fd].at(handle); }

  FakeUverbsControl control;
  std::uint32_t pd = 0;
  std::uint32_t cq = 0;
  std::uint32_t mr = 0;
  std::uint32_t qp = 0;
};

TEST(StopQueuePairsTest, TakesEveryQueuePairToError) {
  Tenant tenant;
  const std::uint32_t second = tenant.control.Add(kFile.fd, kQp);

  const auto outcome = StopQueuePairs(tenant.control, kFile);

  ASSERT_TRUE(outcome);
  EXPECT_EQ(*outcome, (StopOutcome{.stopped = 2, .refused = 0, .first_refusal = ""}));
  EXPECT_EQ(tenant.At(tenant.qp).qp.state, QpState::kError);
  EXPECT_EQ(tenant.At(second).qp.state, QpState::kError);
}

TEST(StopQueuePairsTest, GoesOnPastARefusalAndSaysWhy) {
  Tenant tenant;
  tenant.At(tenant.qp).stuck = true;
  tenant.control.Add(kFile.fd, kQp);

  const auto outcome = StopQueuePairs(tenant.control, kFile);

  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->stopped, 1U);
  EXPECT_EQ(outcome->refused, 1U);
  EXPECT_EQ(outcome->first_refusal, "set qp to error: refused");
}

TEST(StopQueuePairsTest, AnUnpluggedDeviceHasNothingToStop) {
  Tenant tenant;
  tenant.control.unplugged.insert(kFile.fd);

  const auto outcome = StopQueuePairs(tenant.control, kFile);

  ASSERT_TRUE(outcome);
  EXPECT_EQ(*outcome, StopOutcome{});
}

TEST(StopQueuePairsTest, NotAUverbsFileIsAnError) {
  FakeUverbsControl control;

  EXPECT_FALSE(StopQueuePairs(control, kFile));
}

TEST(DestroyObjectsTest, EmptiesTheFileUsersFirst) {
  Tenant tenant;

  const auto outcome = DestroyObjects(tenant.control, kFile);

  ASSERT_TRUE(outcome);
  EXPECT_TRUE(outcome->clean());
  EXPECT_EQ(outcome->destroyed, 4U);
  EXPECT_EQ(tenant.control.journal, (std::vector<std::string>{"destroy qp 4", "destroy cq 2",
                                                              "destroy mr 3", "destroy pd 1"}));
}

TEST(DestroyObjectsTest, ComesBackToAnObjectThatWasBusy) {
  Tenant tenant;
  tenant.At(tenant.mr).busy_times = 2;

  const auto outcome = DestroyObjects(tenant.control, kFile);

  ASSERT_TRUE(outcome);
  EXPECT_TRUE(outcome->clean());
  EXPECT_EQ(outcome->destroyed, 4U);
}

TEST(DestroyObjectsTest, SaysWhatStaysAndWhyInsteadOfTryingForEver) {
  Tenant tenant;
  tenant.At(tenant.qp).pinned = true;

  const auto outcome = DestroyObjects(tenant.control, kFile);

  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->destroyed, 2U);
  EXPECT_EQ(outcome->left, (std::vector<LeftObjects>{{"qp", 1}, {"pd", 1}}));
  EXPECT_EQ(outcome->first_refusal, "destroy qp: in use");
}

TEST(DestroyObjectsTest, MakesNoMorePassesThanAsked) {
  Tenant tenant;
  tenant.At(tenant.mr).busy_times = 2;

  const auto outcome = DestroyObjects(tenant.control, kFile, 2);

  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->left, (std::vector<LeftObjects>{{"mr", 1}, {"pd", 1}}));
}

TEST(DestroyObjectsTest, ReachesObjectsBeyondOneListing) {
  FakeUverbsControl control;
  const std::size_t count = kHandlesListMax + 10;
  for (std::size_t i = 0; i < count; ++i) control.Add(kFile.fd, kMr);

  const auto outcome = DestroyObjects(control, kFile, 1);

  ASSERT_TRUE(outcome);
  EXPECT_TRUE(outcome->clean());
  EXPECT_EQ(outcome->destroyed, count);
}

TEST(DestroyObjectsTest, TakesDriverObjectsOfTheDriverOnly) {
  FakeUverbsControl control;
  constexpr UverbsFile kMlx5File{.fd = 6, .driver_id = 1};
  control.Add(kMlx5File.fd, DriverObjects(kMlx5File.driver_id).front());

  const auto outcome = DestroyObjects(control, kMlx5File);

  ASSERT_TRUE(outcome);
  EXPECT_EQ(control.journal, std::vector<std::string>{"destroy devx_obj 1"});
}

TEST(DestroyObjectsTest, AnUnpluggedDeviceIsClean) {
  Tenant tenant;
  tenant.control.unplugged.insert(kFile.fd);

  const auto outcome = DestroyObjects(tenant.control, kFile);

  ASSERT_TRUE(outcome);
  EXPECT_TRUE(outcome->clean());
  EXPECT_EQ(outcome->destroyed, 0U);
}

}  // namespace
}  // namespace rb::agent::rdma
