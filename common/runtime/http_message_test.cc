#include "common/runtime/http_message.h"

#include <gtest/gtest.h>

namespace rb {
namespace {

TEST(PercentDecodeTest, DecodesEscapes) {
  EXPECT_EQ(PercentDecode("a%20b%2Fc%c3%a9", false), "a b/c\xC3\xA9");
  EXPECT_EQ(PercentDecode("a+b", false), "a+b");
  EXPECT_EQ(PercentDecode("a+b%2B", true), "a b+");
}

TEST(PercentDecodeTest, RefusesBrokenEscapesAndNul) {
  EXPECT_EQ(PercentDecode("%", false), std::nullopt);
  EXPECT_EQ(PercentDecode("a%2", false), std::nullopt);
  EXPECT_EQ(PercentDecode("%zz", false), std::nullopt);
  EXPECT_EQ(PercentDecode("%+1", false), std::nullopt);
  EXPECT_EQ(PercentDecode("a%00b", false), std::nullopt);
}

TEST(PercentEncodeTest, RoundTripsAnyBytes) {
  const std::string text = "a-b_c.d~e /?&=%+\xC3\xA9\x01";

  const std::string encoded = PercentEncode(text);

  EXPECT_EQ(encoded, "a-b_c.d~e%20%2F%3F%26%3D%25%2B%C3%A9%01");
  EXPECT_EQ(PercentDecode(encoded, true), text);
}

TEST(ParseTargetTest, SplitsPathAndQuery) {
  const auto target = ParseTarget("/v1/leases/a%2Fb?tenant=a%20b&tenant=c&flag&empty=&x=1=2");

  ASSERT_TRUE(target);
  EXPECT_EQ(target->path, "/v1/leases/a%2Fb");
  EXPECT_EQ(
      target->query,
      (HttpFields{{"tenant", "a b"}, {"tenant", "c"}, {"flag", ""}, {"empty", ""}, {"x", "1=2"}}));
}

TEST(ParseTargetTest, AcceptsEmptyQueryParts) {
  EXPECT_EQ(ParseTarget("/a?")->query, HttpFields{});
  EXPECT_EQ(ParseTarget("/a?&&b=1&")->query, (HttpFields{{"b", "1"}}));
}

TEST(ParseTargetTest, RefusesOtherFormsAndUncleanTargets) {
  EXPECT_EQ(ParseTarget(""), std::nullopt);
  EXPECT_EQ(ParseTarget("*"), std::nullopt);
  EXPECT_EQ(ParseTarget("http://example.com/"), std::nullopt);
  EXPECT_EQ(ParseTarget("/a b"), std::nullopt);
  EXPECT_EQ(ParseTarget("/a#b"), std::nullopt);
  EXPECT_EQ(ParseTarget("/a\x7f"), std::nullopt);
  EXPECT_EQ(ParseTarget("/a?x=%"), std::nullopt);
}

TEST(HttpRequestTest, FindsTheFirstValueOfAName) {
  HttpRequest request;
  request.headers = {{"x-a", "1"}, {"x-a", "2"}};
  request.query = {{"q", "3"}};
  request.params = {{"id", "4"}};

  EXPECT_EQ(*request.Header("x-a"), "1");
  EXPECT_EQ(*request.Query("q"), "3");
  EXPECT_EQ(*request.Param("id"), "4");
  EXPECT_EQ(request.Header("x-b"), nullptr);
}

TEST(HttpResponseTest, HeaderNamesIgnoreCase) {
  HttpResponse response;
  response.headers = {{"Content-Type", "text/plain"}};

  EXPECT_EQ(*response.Header("content-type"), "text/plain");
  EXPECT_EQ(response.Header("content"), nullptr);
}

TEST(ProblemResponseTest, IsAProblemDocumentWithACode) {
  const HttpResponse response = ProblemResponse(404, "not_found", "no lease \"x\"\n");

  EXPECT_EQ(response.status, 404U);
  EXPECT_EQ(*response.Header("Content-Type"), "application/problem+json");
  EXPECT_EQ(response.body,
            R"({"type":"about:blank","title":"Not Found","status":404,"code":"not_found",)"
            R"("detail":"no lease \"x\"\n"})"
            "\n");
}

TEST(ProblemResponseTest, LeavesOutAnEmptyDetail) {
  EXPECT_EQ(ProblemResponse(500, "internal", "").body.find("detail"), std::string::npos);
}

TEST(StatusTitleTest, UnknownStatusesHaveATitleToo) { EXPECT_EQ(StatusTitle(299), "Unknown"); }

}  // namespace
}  // namespace rb
