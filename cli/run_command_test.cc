#include "cli/run_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "cli/exit_code.h"
#include "cli/fake_node_api.h"
#include "tests/fakes/fake_clock.h"

namespace rb::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

// A command that ends `runs_for` after its start, on the fake clock.
class FakeWorkload final : public Workload {
 public:
  explicit FakeWorkload(FakeClock& clock) : clock_(clock) {}

  Result<void> HoldSignals() override {
    log.emplace_back("hold signals");
    return {};
  }
  Result<void> Start(const WorkloadPlan&, const std::string& token) override {
    log.push_back("start " + token);
    ends_ = clock_.Boot() + runs_for;
    return start_result;
  }
  Result<std::optional<int>> Wait(milliseconds timeout) override {
    if (wait_error) return tl::unexpected<Error>(*wait_error);
    const auto left = ends_ - clock_.Boot();
    if (left <= timeout) {
      clock_.Advance(left);
      return exit_status;
    }
    clock_.Advance(timeout);
    return std::nullopt;
  }
  void Pause(milliseconds time) override { clock_.Advance(time); }

  seconds runs_for{1};
  int exit_status = 0;
  Result<void> start_result;
  std::optional<Error> wait_error;
  std::vector<std::string> log;

 private:
  FakeClock& clock_;
  BootTime ends_{};
};

class RunUnderLeaseTest : public ::testing::Test {
 protected:
  RunUnderLeaseTest() {
    plan_.request.emplace();
    plan_.request->spec.ttl_seconds = 60;
    rest::Lease lease;
    lease.metadata.name = "lease-0";
    lease.spec.tenant = "alice";
    lease.spec.ttl_seconds = 60;
    lease.status.token = "rbl_1";
    lease_body_ = rest::DumpLease(lease);
    api_.on_call = [this](const ApiRequest& request) {
      calls_.push_back(request.target);
      call_times_.push_back(clock_.Boot() - start_);
      if (api_.answers.empty()) api_.Answer("{}");
    };
  }

  Result<int> Run() {
    const RunPorts ports{
        .api = api_, .workload = workload_, .clock = clock_, .messages = messages_};
    return RunUnderLease(plan_, false, ports);
  }

  const std::string create_ = "/v1/leases";
  const std::string renew_ = "/v1/leases/lease-0/renew";
  const std::string revoke_ = "/v1/leases/lease-0/revoke";
  FakeClock clock_;
  BootTime start_ = clock_.Boot();
  FakeNodeApi api_;
  FakeWorkload workload_{clock_};
  RunPlan plan_;
  std::string lease_body_;
  std::vector<std::string> calls_;
  std::vector<BootTime> call_times_;
  std::ostringstream messages_;
};

TEST_F(RunUnderLeaseTest, TheLeaseLivesAsLongAsTheCommand) {
  api_.Answer(lease_body_);
  workload_.exit_status = 7;

  const auto status = Run();

  ASSERT_TRUE(status) << status.error().message;
  EXPECT_EQ(*status, 7);
  EXPECT_EQ(workload_.log, (std::vector<std::string>{"hold signals", "start rbl_1"}));
  EXPECT_EQ(calls_, (std::vector<std::string>{create_, revoke_}));
  EXPECT_EQ(api_.requests[1].body, R"({"grace_ms":0,"reason":"released"})");
  EXPECT_EQ(messages_.str(), "");
}

TEST_F(RunUnderLeaseTest, RenewsAtHalfTheTimeToLive) {
  api_.Answer(lease_body_);
  workload_.runs_for = seconds(100);

  ASSERT_TRUE(Run());

  EXPECT_EQ(calls_, (std::vector<std::string>{create_, renew_, renew_, renew_, revoke_}));
  EXPECT_EQ(call_times_, (std::vector<BootTime>{seconds(0), seconds(30), seconds(60), seconds(90),
                                                seconds(100)}));
  EXPECT_EQ(api_.requests[1].body, R"({"ttl_seconds":60})");
}

TEST_F(RunUnderLeaseTest, AFailedRenewalIsTriedAgainSoonAndSaidOnce) {
  api_.Answer(lease_body_);
  api_.Refuse(ErrorCode::kUnavailable, "no agent");
  api_.Refuse(ErrorCode::kUnavailable, "no agent");
  api_.Answer("{}");
  workload_.runs_for = seconds(40);

  ASSERT_TRUE(Run());

  EXPECT_EQ(call_times_, (std::vector<BootTime>{seconds(0), seconds(30), seconds(32), seconds(34),
                                                seconds(40)}));
  EXPECT_EQ(messages_.str(), "rdmactl: lease lease-0 not renewed: no agent\n");
}

TEST_F(RunUnderLeaseTest, ALeaseThatIsOverIsNotRenewedAgain) {
  api_.Answer(lease_body_);
  api_.Refuse(ErrorCode::kConflict, "revoked");
  workload_.runs_for = seconds(500);
  workload_.exit_status = 137;

  EXPECT_EQ(*Run(), 137);

  EXPECT_EQ(calls_, (std::vector<std::string>{create_, renew_, revoke_}));
}

TEST_F(RunUnderLeaseTest, ACommandThatCannotStartReleasesTheLease) {
  api_.Answer(lease_body_);
  workload_.start_result =
      Fail(ErrorCode::kNotFound, "run nothing: no such file", kReasonNoCommand);

  const auto status = Run();

  ASSERT_FALSE(status);
  EXPECT_EQ(ExitCodeOf(status.error()), kExitNoCommand);
  EXPECT_EQ(calls_, (std::vector<std::string>{create_, revoke_}));
}

TEST_F(RunUnderLeaseTest, AWaitThatFailsReleasesTheLease) {
  api_.Answer(lease_body_);
  workload_.wait_error = Error{.code = ErrorCode::kInternal, .message = "wait"};

  EXPECT_FALSE(Run());

  EXPECT_EQ(calls_, (std::vector<std::string>{create_, revoke_}));
}

TEST_F(RunUnderLeaseTest, NoLeaseNoCommand) {
  api_.Refuse(ErrorCode::kExhausted, "limit_leases");

  const auto status = Run();

  ASSERT_FALSE(status);
  EXPECT_EQ(ExitCodeOf(status.error()), kExitConflict);
  EXPECT_EQ(workload_.log, std::vector<std::string>{"hold signals"});
  EXPECT_EQ(calls_, std::vector<std::string>{create_});
}

TEST_F(RunUnderLeaseTest, AnAgentThatRestartsIsAskedAgainToRelease) {
  api_.Answer(lease_body_);
  api_.Refuse(ErrorCode::kUnavailable, "no agent");
  api_.Answer("{}");

  EXPECT_EQ(*Run(), 0);

  EXPECT_EQ(calls_, (std::vector<std::string>{create_, revoke_, revoke_}));
  EXPECT_EQ(messages_.str(), "");
}

TEST_F(RunUnderLeaseTest, ALeaseThatCannotBeReleasedIsReportedAndTheStatusKept) {
  api_.Answer(lease_body_);
  for (int i = 0; i < 4; ++i) api_.Refuse(ErrorCode::kUnavailable, "no agent");
  workload_.exit_status = 3;

  EXPECT_EQ(*Run(), 3);

  EXPECT_EQ(calls_.size(), 5U);
  EXPECT_THAT(messages_.str(), HasSubstr("ends by itself within 60 s"));
}

TEST_F(RunUnderLeaseTest, ALeaseThatEndedAlreadyNeedsNoRelease) {
  api_.Answer(lease_body_);
  api_.Refuse(ErrorCode::kConflict, "revoked");

  EXPECT_EQ(*Run(), 0);

  EXPECT_EQ(calls_, (std::vector<std::string>{create_, revoke_}));
  EXPECT_EQ(messages_.str(), "");
}

TEST_F(RunUnderLeaseTest, SomebodyElsesLeaseIsNeitherRenewedNorEnded) {
  plan_.request.reset();
  plan_.token = "rbl_2";
  workload_.runs_for = seconds(100);

  EXPECT_EQ(*Run(), 0);

  EXPECT_EQ(workload_.log, (std::vector<std::string>{"hold signals", "start rbl_2"}));
  EXPECT_TRUE(calls_.empty());
}

}  // namespace
}  // namespace rb::cli
