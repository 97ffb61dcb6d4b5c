#include "agent/control/revoker.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>

#include "tests/fakes/fake_kernel.h"
#include "tests/support/agent_core.h"

namespace rb::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr pid_t kPid = 4242;
constexpr DeviceNumber kRxe0{.major = 231, .minor = 192};
constexpr OpenFile kFile{.fd = 5, .device = kRxe0};

class RevokerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    kernel_.cgroups.Add("/rdma-broker/lease-1");
    kernel_.processes.Add({.pid = kPid, .cgroup = "/rdma-broker/lease-1", .command = "job"});
  }

  // The process's file holds a queue pair in a protection domain.
  void OpenFileWithObjects() {
    kernel_.processes.OpenFileOf(kPid, kFile);
    kernel_.processes.on_take = [this](pid_t, const OpenFile&, int taken) {
      taken_ = taken;
      kernel_.uverbs.Add(taken, rdma::kPd);
      kernel_.uverbs.Add(taken, rdma::kQp);
      kernel_.processes.CloseFilesOf(kPid);
    };
  }

  RevokeReport Revoke(const std::string& cgroup = "/rdma-broker/lease-1") {
    RevokeTarget target{
        .lease = "lease-1",
        .cgroup = cgroup,
        .devices = {{.name = "rxe0", .number = kRxe0, .driver_id = 14},
                    {.name = "rxe1", .number = {.major = 231, .minor = 193}, .driver_id = 14}}};
    return test::RunTask(loop_, revoker_.Revoke(std::move(target)));
  }

  FakeKernel kernel_;
  Loop loop_;
  BlockingPool pool_{loop_, 1};
  Revoker revoker_{loop_, pool_, kernel_.bundle(), test::kTestRevokeTimes};
  int taken_ = -1;
};

TEST_F(RevokerTest, NobodyMayCreateAnythingFromTheFirstStepOn) {
  const RevokeReport report = Revoke();

  EXPECT_TRUE(report.clean);
  EXPECT_FALSE(report.killed);
  EXPECT_THAT(kernel_.cgroups.Writes(),
              ElementsAre("/rdma-broker/lease-1 rxe0 0", "/rdma-broker/lease-1 rxe1 0"));
  EXPECT_TRUE(kernel_.processes.Has(kPid));
}

TEST_F(RevokerTest, QueuePairsAreStoppedBeforeAnythingIsDestroyed) {
  OpenFileWithObjects();

  const RevokeReport report = Revoke();

  EXPECT_THAT(kernel_.uverbs.journal, ElementsAre("error qp 2", "destroy qp 2", "destroy pd 1"));
  EXPECT_EQ(report.files, 1U);
  EXPECT_EQ(report.qps_stopped, 1U);
  EXPECT_EQ(report.objects_destroyed, 2U);
  EXPECT_TRUE(report.clean);
  EXPECT_EQ(report.detail, "");
}

TEST_F(RevokerTest, NoDuplicateOfATenantsFileIsKept) {
  OpenFileWithObjects();

  Revoke();

  ASSERT_GE(taken_, 0);
  EXPECT_EQ(::fcntl(taken_, F_GETFD), -1);
}

TEST_F(RevokerTest, AFileThatCannotBeTakenIsSaidAndItsHolderKilled) {
  kernel_.processes.OpenFileOf(kPid, kFile);
  kernel_.processes.RefuseTake(
      Error{.code = ErrorCode::kDenied, .message = "pidfd_getfd: ptrace access is refused"});

  const RevokeReport report = Revoke();

  EXPECT_TRUE(report.killed);
  EXPECT_TRUE(report.clean);
  EXPECT_THAT(report.detail, HasSubstr("ptrace"));
  EXPECT_FALSE(kernel_.processes.Has(kPid));
}

TEST_F(RevokerTest, ATenantWithVeryManyDescriptorsDoesNotUseUpOurs) {
  for (int fd = 0; fd < 1000; ++fd) kernel_.processes.OpenFileOf(kPid, {.fd = fd, .device = kRxe0});

  const RevokeReport report = Revoke();

  EXPECT_EQ(report.files, 256U);
  EXPECT_THAT(report.detail, HasSubstr("more than 256 descriptors"));
  EXPECT_TRUE(report.killed);
  EXPECT_TRUE(report.clean);
}

TEST_F(RevokerTest, AContextThatNoProcessShowsIsTakenByKilling) {
  // Its file is parked in a socket's queue: only the kernel's charge tells.
  kernel_.cgroups.Charge("/rdma-broker/lease-1", "rxe0", 1);
  kernel_.cgroups.on_kill = [this](const std::string& path) {
    kernel_.cgroups.Charge(path, "rxe0", 0);
  };

  const RevokeReport report = Revoke();

  EXPECT_TRUE(report.killed);
  EXPECT_TRUE(report.clean);
}

TEST_F(RevokerTest, WhatSurvivesTheKillIsReported) {
  kernel_.processes.OpenFileOf(kPid, kFile);
  kernel_.cgroups.unkillable = {kPid};

  const RevokeReport report = Revoke();

  EXPECT_TRUE(report.killed);
  EXPECT_FALSE(report.clean);
}

TEST_F(RevokerTest, AnOldKernelsProcessesAreKilledOneByOne) {
  const pid_t child = ::fork();
  if (child == 0) {
    while (true) ::pause();
  }
  kernel_.processes.Remove(kPid);
  kernel_.processes.Add({.pid = child, .cgroup = "/rdma-broker/lease-1", .command = "job"});
  kernel_.processes.OpenFileOf(child, kFile);
  kernel_.cgroups.can_kill = false;

  Revoke();

  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
}

TEST_F(RevokerTest, WithoutAnRdmaControllerTheRestStillHappens) {
  kernel_.cgroups.has_rdma_controller = false;
  OpenFileWithObjects();

  const RevokeReport report = Revoke();

  EXPECT_TRUE(report.clean);
  EXPECT_EQ(report.qps_stopped, 1U);
  EXPECT_EQ(report.detail, "");
}

TEST_F(RevokerTest, ACgroupThatIsGoneHoldsNothing) {
  EXPECT_TRUE(Revoke("/rdma-broker/lease-9").clean);
}

TEST_F(RevokerTest, WithoutACgroupNobodyIsTouched) {
  // "" would be the root of all cgroups, with every process of the machine in it.
  kernel_.cgroups.Add("");
  kernel_.processes.OpenFileOf(kPid, kFile);
  kernel_.processes.Move(kPid, "");

  const RevokeReport report = Revoke("");

  EXPECT_TRUE(report.clean);
  EXPECT_THAT(kernel_.cgroups.Writes(), IsEmpty());
  EXPECT_TRUE(kernel_.processes.Has(kPid));
}

TEST_F(RevokerTest, AnObjectThatCannotBeDestroyedIsLeftToTheKill) {
  kernel_.processes.OpenFileOf(kPid, kFile);
  kernel_.processes.on_take = [this](pid_t, const OpenFile&, int taken) {
    const std::uint32_t qp = kernel_.uverbs.Add(taken, rdma::kQp);
    kernel_.uverbs.files[taken][qp].pinned = true;
  };

  const RevokeReport report = Revoke();

  EXPECT_EQ(report.objects_destroyed, 0U);
  EXPECT_TRUE(report.killed);
  EXPECT_TRUE(report.clean);
}

}  // namespace
}  // namespace rb::agent
