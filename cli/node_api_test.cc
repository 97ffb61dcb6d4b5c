#include "cli/node_api.h"

#include <gtest/gtest.h>

#include "api/rest/node.h"
#include "cli/exit_code.h"
#include "cli/fake_node_api.h"
#include "cli/http_node_api.h"

namespace rb::cli {
namespace {

std::string LeaseBody(std::uint64_t qps) {
  rest::Lease lease;
  lease.metadata.name = "lease-0";
  lease.spec.tenant = "alice";
  lease.spec.limits[wire::Limit::kQps] = qps;
  return rest::DumpLease(lease);
}

Result<void> SetEightQps(rest::LeaseRequest* request) {
  request->spec.limits[wire::Limit::kQps] = 8;
  return {};
}

TEST(TargetTest, EscapesTheName) {
  EXPECT_EQ(Target("leases"), "/v1/leases");
  EXPECT_EQ(Target("leases", "../node?x"), "/v1/leases/..%2Fnode%3Fx");
}

TEST(PatchLeaseTest, SendsTheDifferenceIfTheLeaseIsStillThatOne) {
  FakeNodeApi api;
  api.Answer(LeaseBody(2), "\"7\"");
  api.Answer("patched");

  const auto answer = PatchLease(api, "lease-0", SetEightQps);

  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->body, "patched");
  ASSERT_EQ(api.requests.size(), 2U);
  EXPECT_EQ(api.requests[1], (ApiRequest{.method = "PATCH",
                                         .target = "/v1/leases/lease-0",
                                         .body = R"({"spec":{"limits":{"qps":8}}})",
                                         .content_type = "application/merge-patch+json",
                                         .if_match = "\"7\""}));
}

TEST(PatchLeaseTest, ReadsAgainOnceWhenSomebodyWasFaster) {
  FakeNodeApi api;
  api.Answer(LeaseBody(2), "\"7\"");
  api.Refuse(ErrorCode::kStale, "stale");
  api.Answer(LeaseBody(4), "\"8\"");
  api.Answer("patched");

  EXPECT_TRUE(PatchLease(api, "lease-0", SetEightQps));

  ASSERT_EQ(api.requests.size(), 4U);
  EXPECT_EQ(api.requests[3].if_match, "\"8\"");
}

TEST(PatchLeaseTest, GivesUpTheSecondTime) {
  FakeNodeApi api;
  for (int i = 0; i < 2; ++i) {
    api.Answer(LeaseBody(2), "\"7\"");
    api.Refuse(ErrorCode::kStale, "stale");
  }

  const auto answer = PatchLease(api, "lease-0", SetEightQps);

  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kStale);
  EXPECT_EQ(api.requests.size(), 4U);
}

TEST(PatchLeaseTest, SendsNothingWhenNothingChanges) {
  FakeNodeApi api;
  api.Answer(LeaseBody(8), "\"7\"");

  const auto answer = PatchLease(api, "lease-0", SetEightQps);

  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->body, LeaseBody(8));
  EXPECT_EQ(api.requests.size(), 1U);
}

TEST(RevokeLeaseTest, WaitsForTheGraceToo) {
  FakeNodeApi api;
  api.Answer("");

  ASSERT_TRUE(RevokeLease(api, "lease-0", {.grace_ms = 5000, .reason = "released"}));

  EXPECT_EQ(api.requests[0].target, "/v1/leases/lease-0/revoke");
  EXPECT_EQ(api.requests[0].body, R"({"grace_ms":5000,"reason":"released"})");
  EXPECT_EQ(api.requests[0].deadline, std::chrono::milliseconds(15'000));
}

HttpResponse Problem(unsigned status, std::string body) {
  return {.status = status, .headers = {}, .body = std::move(body)};
}

TEST(ReadAnswerTest, KeepsBodyAndEtag) {
  const auto answer = ReadAnswer({.status = 201, .headers = {{"ETag", "\"3\""}}, .body = "{}"});

  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->body, "{}");
  EXPECT_EQ(answer->etag, "\"3\"");
}

TEST(ReadAnswerTest, AProblemSaysWhatTheAgentSaid) {
  const rest::Problem problem = rest::ToProblem(
      {.code = ErrorCode::kExhausted, .message = "asked 5, left 2", .reason = "limit_qps"}, "r");
  const auto answer = ReadAnswer(Problem(problem.status, rest::DumpProblem(problem)));

  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().message, "asked 5, left 2 (limit_qps)");
  EXPECT_EQ(answer.error().reason, "limit_qps");
  EXPECT_EQ(ExitCodeOf(answer.error()), kExitConflict);
}

TEST(ReadAnswerTest, EveryStatusHasItsExitCode) {
  for (const auto& [status, exit_code] :
       std::vector<std::pair<unsigned, int>>{{400, kExitUsage},
                                             {401, kExitDenied},
                                             {403, kExitDenied},
                                             {404, kExitNotFound},
                                             {409, kExitConflict},
                                             {412, kExitConflict},
                                             {422, kExitUsage},
                                             {428, kExitConflict},
                                             {500, kExitFailed},
                                             {503, kExitFailed},
                                             {504, kExitFailed},
                                             {302, kExitFailed}}) {
    const auto answer = ReadAnswer(Problem(status, "not json"));
    ASSERT_FALSE(answer);
    EXPECT_EQ(ExitCodeOf(answer.error()), exit_code) << status;
  }
}

}  // namespace
}  // namespace rb::cli
