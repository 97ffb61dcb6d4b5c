#include <gtest/gtest.h>

#include "api/rest/lease.h"
#include "api/rest/node.h"

namespace rb::rest {
namespace {

TEST(ToProblemTest, EveryErrorCodeHasItsStatus) {
  for (const auto& [code, status] :
       std::vector<std::pair<ErrorCode, unsigned>>{{ErrorCode::kInvalid, 400},
                                                   {ErrorCode::kUnauthorized, 401},
                                                   {ErrorCode::kDenied, 403},
                                                   {ErrorCode::kNotFound, 404},
                                                   {ErrorCode::kConflict, 409},
                                                   {ErrorCode::kExhausted, 409},
                                                   {ErrorCode::kStale, 412},
                                                   {ErrorCode::kUnsupported, 422},
                                                   {ErrorCode::kUnavailable, 503},
                                                   {ErrorCode::kTimeout, 504},
                                                   {ErrorCode::kCorrupt, 500},
                                                   {ErrorCode::kInternal, 500}}) {
    const Problem problem = ToProblem({.code = code, .message = "m"}, "r1");
    EXPECT_EQ(problem.status, status) << Name(code);
    EXPECT_EQ(problem.code, Name(code));
    EXPECT_EQ(problem.request_id, "r1");
    EXPECT_FALSE(problem.title.empty());
  }
}

TEST(ToProblemTest, SomeReasonsDecideTheStatus) {
  for (const auto& [reason, status] :
       std::vector<std::pair<std::string, unsigned>>{{"malformed", 400},
                                                     {"unknown_field", 400},
                                                     {"semantic", 422},
                                                     {"too_large", 413},
                                                     {"unsupported_media_type", 415},
                                                     {"precondition_required", 428},
                                                     {"rate_limited", 429},
                                                     {"compacted", 410}}) {
    const Problem problem =
        ToProblem({.code = ErrorCode::kInvalid, .message = "m", .reason = reason}, "");
    EXPECT_EQ(problem.status, status) << reason;
    EXPECT_EQ(problem.code, reason);
  }
}

TEST(ToProblemTest, AReasonKeepsTheStatusOfItsCode) {
  const Problem problem = ToProblem(
      {.code = ErrorCode::kExhausted, .message = "device rxe0: full", .reason = "limit_qps"}, "");

  EXPECT_EQ(problem.status, 409U);
  EXPECT_EQ(problem.code, "limit_qps");
  EXPECT_TRUE(problem.errors.empty());
}

TEST(ToProblemTest, AParserErrorNamesItsPointer) {
  const auto request = ParseLeaseRequest(R"({"spec":{"tenant":"a","ttl":1}})");
  ASSERT_FALSE(request);

  const Problem problem = ToProblem(request.error(), "");

  EXPECT_EQ(problem.status, 400U);
  EXPECT_EQ(problem.code, "unknown_field");
  EXPECT_EQ(problem.errors,
            (std::vector<Problem::Pointer>{{.pointer = "/spec/ttl", .detail = "unknown field"}}));
}

TEST(ToProblemTest, TheBodyItselfIsTheEmptyPointer) {
  const Problem problem = ToProblem(ParseLeaseRequest("[]").error(), "");

  ASSERT_EQ(problem.errors.size(), 1U);
  EXPECT_EQ(problem.errors[0].pointer, "");
}

TEST(ProblemJsonTest, WhatIsDumpedIsRead) {
  const Problem problem{.status = 409,
                        .code = "limit_qps",
                        .title = "Conflict",
                        .detail = "asked 5, left 2",
                        .request_id = "r",
                        .errors = {{.pointer = "/spec", .detail = "d"}}};

  const auto again = ParseProblem(DumpProblem(problem));

  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, problem);
}

TEST(ProblemJsonTest, ReadsTheServersOwnShortForm) {
  const auto problem =
      ParseProblem(R"({"type":"about:blank","title":"Not Found","status":404,"code":"not_found"})");

  ASSERT_TRUE(problem) << problem.error().message;
  EXPECT_EQ(problem->status, 404U);
}

}  // namespace
}  // namespace rb::rest
