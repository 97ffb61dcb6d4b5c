// The rdmactl program against both sockets of a fake agent.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>

#include "cli/exit_code.h"
#include "tests/support/fake_agent.h"
#include "tests/support/program.h"

namespace rb::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kCreate = "POST /v1/leases";
constexpr const char* kRevoke = "POST /v1/leases/lease-0/revoke";

class RdmactlTest : public ::testing::Test {
 protected:
  std::vector<std::string> Arguments(const std::vector<std::string>& more) const {
    std::vector<std::string> all{RDMACTL_PATH, "--node", agent_.admin_socket()};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  test::FakeAgent agent_;
};

// Starting a tenant's process takes root: mounts, another user.
class RdmactlRunTest : public RdmactlTest {
 protected:
  RdmactlRunTest() : shim_(agent_.Path("shim.so")) {
    // Where the other user can read it, unlike perhaps the build folder.
    std::filesystem::copy_file(TEST_SHIM_PATH, shim_);
  }
  ~RdmactlRunTest() override {
    // `run` makes the folder on a machine that has no device; leave none behind.
    if (!had_devices_) (void)::rmdir(kDevices);
  }
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  }

  // `run` as user 1234 of a shell that does `script`.
  std::vector<std::string> Run(const std::string& script) const {
    return Arguments({"run", "--uid", "1234", "--shim", shim_, "--", "/bin/sh", "-c", script});
  }

  static constexpr const char* kDevices = "/dev/infiniband";

  std::string shim_;
  bool had_devices_ = std::filesystem::exists(kDevices);
};

TEST_F(RdmactlTest, PrintsTheLeases) {
  test::Program program(Arguments({"get", "leases"}));

  EXPECT_THAT(program.ReadAll(), HasSubstr("lease-0  alice   active  rxe0"));
  EXPECT_EQ(program.ReadErrors(), "");
  EXPECT_EQ(program.Wait(), 0);
}

TEST_F(RdmactlTest, WhatIsMissingIsExitCodeThreeAndOnStderr) {
  test::Program program(Arguments({"get", "leases", "lease-9"}));

  EXPECT_EQ(program.ReadAll(), "");
  EXPECT_THAT(program.ReadErrors(), HasSubstr("no such thing"));
  EXPECT_EQ(program.Wait(), kExitNotFound);
}

TEST_F(RdmactlTest, PatchesWithTheEtagItRead) {
  test::Program program(Arguments({"lease", "patch", "lease-0", "--qps", "8", "-o", "yaml"}));

  EXPECT_THAT(program.ReadAll(), HasSubstr("  name: lease-0\n"));
  EXPECT_EQ(program.Wait(), 0);
  EXPECT_THAT(agent_.calls(), ElementsAre("GET /v1/leases/lease-0", "PATCH /v1/leases/lease-0"));
  EXPECT_EQ(agent_.last_body(), R"({"spec":{"limits":{"qps":8}}})");
}

TEST(RdmactlAloneTest, AMissingAgentIsExplained) {
  test::Program program({RDMACTL_PATH, "--node", "/nonexistent/admin.sock", "get", "node"});

  EXPECT_THAT(program.ReadErrors(),
              HasSubstr("no agent answers at /nonexistent/admin.sock: start it"));
  EXPECT_EQ(program.Wait(), kExitFailed);
}

TEST(RdmactlAloneTest, AWrongArgumentIsExitCodeTwo) {
  test::Program program({RDMACTL_PATH, "fly"});

  EXPECT_THAT(program.ReadErrors(), HasSubstr("--help"));
  EXPECT_EQ(program.Wait(), kExitUsage);
}

TEST(RdmactlAloneTest, AFullStdoutIsAFailure) {
  test::Program program({"/bin/sh", "-c", std::string(RDMACTL_PATH) + " --help >/dev/full"});

  EXPECT_EQ(program.Wait(), kExitFailed);
}

TEST_F(RdmactlRunTest, TheCommandIsAnUnprivilegedTenantInTheLease) {
  test::Program program(
      Run("id -u; id -G; ls -A /dev/infiniband | wc -l; echo $LD_PRELOAD;"
          "echo ${RDMA_LEASE-none}; grep -E 'NoNewPrivs|Cap(Prm|Eff|Bnd|Amb)' "
          "/proc/self/status | tr -d '\\t'; exit 7"));

  EXPECT_EQ(program.ReadLine(), "1234");
  EXPECT_EQ(program.ReadLine(), "1234") << "no supplementary groups";
  EXPECT_EQ(program.ReadLine(), "0") << "no device nodes";
  EXPECT_EQ(program.ReadLine(), shim_);
  EXPECT_EQ(program.ReadLine(), "none");
  for (const char* set : {"CapPrm", "CapEff", "CapBnd", "CapAmb"}) {
    EXPECT_EQ(program.ReadLine(), std::string(set) + ":0000000000000000");
  }
  EXPECT_EQ(program.ReadLine(), "NoNewPrivs:1");
  EXPECT_EQ(program.ReadErrors(), "");
  EXPECT_EQ(program.Wait(), 7);
  EXPECT_THAT(agent_.calls(), ElementsAre(kCreate, kRevoke));
  EXPECT_EQ(agent_.last_body(), R"({"grace_ms":0,"reason":"released"})");
  ASSERT_EQ(agent_.entered().size(), 1U);
  EXPECT_EQ(agent_.entered()[0].token, "rbl_secret");
  EXPECT_EQ(agent_.entered()[0].uid, 1234U);
}

TEST_F(RdmactlRunTest, TheProcessThatEnteredIsTheCommand) {
  test::Program program(Run("echo $$"));

  const std::string pid = program.ReadLine();

  EXPECT_EQ(program.Wait(), 0);
  ASSERT_EQ(agent_.entered().size(), 1U);
  EXPECT_EQ(std::to_string(agent_.entered()[0].pid), pid);
}

TEST_F(RdmactlRunTest, AStopReachesTheCommandAndTheLeaseIsReleased) {
  test::Program program(Run("trap 'exit 9' TERM; echo ready; while :; do sleep 0.01; done"));
  ASSERT_EQ(program.ReadLine(), "ready");

  program.Signal(SIGTERM);

  EXPECT_EQ(program.Wait(), 9);
  EXPECT_THAT(agent_.calls(), ElementsAre(kCreate, kRevoke));
}

TEST_F(RdmactlRunTest, ACommandThatASignalEndedIsReportedLikeAShellDoes) {
  test::Program program(Run("kill -USR1 $$"));

  EXPECT_EQ(program.Wait(), 128 + SIGUSR1);
  EXPECT_THAT(agent_.calls(), ElementsAre(kCreate, kRevoke));
}

TEST_F(RdmactlRunTest, KillingRdmactlKillsTheCommand) {
  test::Program program(Run("echo ready; exec sleep 1000"));
  ASSERT_EQ(program.ReadLine(), "ready");

  program.Signal(SIGKILL);

  EXPECT_EQ(program.ReadAll(), "") << "ends only when the command is gone too";
  EXPECT_EQ(program.Wait(), 128 + SIGKILL);
}

TEST_F(RdmactlRunTest, AMissingCommandIsExitCode127) {
  test::Program program(
      Arguments({"run", "--uid", "1234", "--shim", shim_, "--", "/nowhere/program"}));

  EXPECT_THAT(program.ReadErrors(), HasSubstr("run /nowhere/program: No such file"));
  EXPECT_EQ(program.Wait(), kExitNoCommand);
  EXPECT_THAT(agent_.calls(), ElementsAre(kCreate, kRevoke));
}

TEST_F(RdmactlRunTest, ACommandThatMayNotBeRunIsExitCode126) {
  test::Program program(Arguments({"run", "--uid", "1234", "--shim", shim_, "--", "/etc/passwd"}));

  EXPECT_EQ(program.Wait(), kExitCannotExecute);
  EXPECT_THAT(agent_.calls(), ElementsAre(kCreate, kRevoke));
}

TEST_F(RdmactlRunTest, ARefusedEnterSaysWhyAndReleasesTheLease) {
  agent_.RefuseEnter("privileged_tenant");
  test::Program program(Run("echo never"));

  EXPECT_EQ(program.ReadAll(), "");
  EXPECT_THAT(program.ReadErrors(), HasSubstr("not this one (privileged_tenant)"));
  EXPECT_EQ(program.Wait(), kExitDenied);
  EXPECT_THAT(agent_.calls(), ElementsAre(kCreate, kRevoke));
}

TEST_F(RdmactlRunTest, AShimThatTheUserCannotReadIsNotIgnored) {
  std::filesystem::permissions(shim_, std::filesystem::perms(0600));
  test::Program program(Run("echo never"));

  EXPECT_EQ(program.ReadAll(), "");
  EXPECT_THAT(program.ReadErrors(), HasSubstr("preload"));
  EXPECT_EQ(program.Wait(), kExitDenied);
}

TEST_F(RdmactlRunTest, ATokenUsesALeaseThatIsNotEnded) {
  test::Program program(Arguments(
      {"run", "--uid", "1234", "--shim", shim_, "--lease-token", "rbl_other", "--", "/bin/true"}));

  EXPECT_EQ(program.Wait(), 0);
  EXPECT_TRUE(agent_.calls().empty());
  ASSERT_EQ(agent_.entered().size(), 1U);
  EXPECT_EQ(agent_.entered()[0].token, "rbl_other");
}

TEST_F(RdmactlRunTest, TheTokenIsNotLeftInTheArgumentsForOthersToRead) {
  test::Program program(
      Arguments({"run", "--uid", "1234", "--shim", shim_, "--lease-token", "rbl_other", "--",
                 "/bin/sh", "-c", "tr '\\0' ' ' </proc/$PPID/cmdline"}));

  EXPECT_THAT(program.ReadAll(), HasSubstr("--lease-token xxxxxxxxx --"));
  EXPECT_EQ(program.Wait(), 0);
}

}  // namespace
}  // namespace rb::cli
