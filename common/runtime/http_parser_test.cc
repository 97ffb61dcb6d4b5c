#include "common/runtime/http_parser.h"

#include <gtest/gtest.h>

#include <string>

namespace rb {
namespace {

constexpr std::size_t kBodyMax = 10;

// The status of the refusal of `head`; 0 when it is accepted.
unsigned StatusOf(const std::string& head) {
  HttpRequestParser parser(kBodyMax);
  const auto refusal = parser.ParseHead(head);
  return refusal ? refusal->status : 0;
}

std::string Post(const std::string& headers) {
  return "POST /x HTTP/1.1\r\nHost: a\r\n" + headers + "\r\n";
}

TEST(HttpRequestParserTest, TakesARequestApart) {
  HttpRequestParser parser(kBodyMax);

  ASSERT_FALSE(parser.ParseHead("GET /v1/a%20b?q=1 HTTP/1.1\r\nHost: a\r\nX-Name:  v \r\n\r\n"));

  ASSERT_TRUE(parser.done());
  EXPECT_TRUE(parser.keep_alive());
  EXPECT_FALSE(parser.expects_continue());
  const HttpRequest request = parser.Take();
  EXPECT_EQ(request.method, "GET");
  EXPECT_EQ(request.target, "/v1/a%20b?q=1");
  EXPECT_EQ(request.path, "/v1/a%20b");
  EXPECT_EQ(*request.Query("q"), "1");
  EXPECT_EQ(*request.Header("x-name"), "v");
}

TEST(HttpRequestParserTest, TakesABodyByContentLengthAndLeavesTheRest) {
  HttpRequestParser parser(kBodyMax);
  ASSERT_FALSE(parser.ParseHead(Post("Content-Length: 5\r\n")));
  EXPECT_FALSE(parser.done());
  std::size_t used = 0;

  ASSERT_FALSE(parser.ParseBody("he", &used));
  EXPECT_EQ(used, 2U);
  ASSERT_FALSE(parser.ParseBody("lloGET /", &used));

  EXPECT_EQ(used, 3U);
  ASSERT_TRUE(parser.done());
  EXPECT_EQ(parser.Take().body, "hello");
}

TEST(HttpRequestParserTest, TakesAChunkedBodyByteByByteAndDropsTrailers) {
  const std::string body = "3;a=b\r\nhel\r\n2\r\nlo\r\n0\r\nHost: evil\r\nX-T: 1\r\n\r\n";
  HttpRequestParser parser(kBodyMax);
  ASSERT_FALSE(parser.ParseHead(Post("Transfer-Encoding: Chunked\r\n")));
  std::string pending;

  for (const char c : body) {
    ASSERT_FALSE(parser.done());
    pending += c;
    std::size_t used = 0;
    ASSERT_FALSE(parser.ParseBody(pending, &used));
    pending.erase(0, used);
  }

  ASSERT_TRUE(parser.done());
  const HttpRequest request = parser.Take();
  EXPECT_EQ(request.body, "hello");
  EXPECT_EQ(*request.Header("host"), "a");
  EXPECT_EQ(request.Header("x-t"), nullptr);
}

TEST(HttpRequestParserTest, AcceptsTheLargestBodyAndRefusesOneByteMore) {
  EXPECT_EQ(StatusOf(Post("Content-Length: 10\r\n")), 0U);
  EXPECT_EQ(StatusOf(Post("Content-Length: 11\r\n")), 413U);

  HttpRequestParser parser(kBodyMax);
  ASSERT_FALSE(parser.ParseHead(Post("Transfer-Encoding: chunked\r\n")));
  std::size_t used = 0;
  EXPECT_FALSE(parser.ParseBody("a\r\n0123456789\r\n", &used));
  const auto refusal = parser.ParseBody("\r\n1\r\nx\r\n", &used);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->status, 413U);
  EXPECT_EQ(refusal->code, "body_too_large");
}

TEST(HttpRequestParserTest, RefusesAmbiguousFraming) {
  EXPECT_EQ(StatusOf(Post("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n")), 400U);
  EXPECT_EQ(StatusOf(Post("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n")), 400U);
  EXPECT_EQ(StatusOf(Post("Content-Length: 5\r\nContent-Length: 5\r\n")), 400U);
  EXPECT_EQ(StatusOf(Post("Content-Length: 5\r\nContent-Length: 6\r\n")), 400U);
  EXPECT_EQ(StatusOf(Post("Content-Length: 5, 5\r\n")), 400U);
  EXPECT_EQ(StatusOf(Post("Content-Length: +5\r\n")), 400U);
  EXPECT_EQ(StatusOf(Post("Content-Length: 5x\r\n")), 400U);
  EXPECT_EQ(StatusOf(Post("Content-Length: -5\r\n")), 400U);
  EXPECT_EQ(StatusOf(Post("Content-Length:\r\n")), 400U);
  EXPECT_EQ(StatusOf(Post("Content-Length: 99999999999999999999\r\n")), 400U);
  EXPECT_EQ(StatusOf(Post("Content-Length : 5\r\n")), 400U);
  EXPECT_EQ(StatusOf("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"), 400U);
}

TEST(HttpRequestParserTest, RefusesOtherTransferCodings) {
  EXPECT_EQ(StatusOf(Post("Transfer-Encoding: gzip\r\n")), 501U);
  EXPECT_EQ(StatusOf(Post("Transfer-Encoding: gzip, chunked\r\n")), 501U);
  EXPECT_EQ(StatusOf(Post("Transfer-Encoding: xchunked\r\n")), 501U);
  EXPECT_NE(StatusOf(Post("Transfer-Encoding: chunked\r\nTransfer-Encoding: gzip\r\n")), 0U);
  EXPECT_NE(StatusOf(Post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n")), 0U);
}

TEST(HttpRequestParserTest, RefusesBrokenChunks) {
  for (const auto* body :
       {"x\r\n", "-1\r\n", "5\nhello", "2\r\nabc\r\n", "ffffffffffffffffff\r\n"}) {
    HttpRequestParser parser(kBodyMax);
    ASSERT_FALSE(parser.ParseHead(Post("Transfer-Encoding: chunked\r\n")));
    std::size_t used = 0;
    auto refusal = parser.ParseBody(body, &used);
    const std::string rest = std::string(body).substr(used) + "\r\n\r\n";
    if (!refusal) refusal = parser.ParseBody(rest, &used);
    EXPECT_TRUE(refusal) << body;
  }
}

TEST(HttpRequestParserTest, WantsExactlyOneHost) {
  EXPECT_EQ(StatusOf("GET / HTTP/1.1\r\n\r\n"), 400U);
  EXPECT_EQ(StatusOf("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"), 400U);
  EXPECT_EQ(StatusOf("GET / HTTP/1.0\r\n\r\n"), 0U);
}

TEST(HttpRequestParserTest, RefusesMalformedRequestLines) {
  EXPECT_EQ(StatusOf("GET /\r\nHost: a\r\n\r\n"), 400U);
  EXPECT_EQ(StatusOf("GET / HTTP/2.0\r\nHost: a\r\n\r\n"), 400U);
  EXPECT_EQ(StatusOf("GET  / HTTP/1.1\r\nHost: a\r\n\r\n"), 400U);
  EXPECT_EQ(StatusOf("G<T / HTTP/1.1\r\nHost: a\r\n\r\n"), 400U);
  EXPECT_EQ(StatusOf("GET * HTTP/1.1\r\nHost: a\r\n\r\n"), 400U);
  EXPECT_EQ(StatusOf("GET / HTTP/1.1\r\nHost: a\r\nno colon\r\n\r\n"), 400U);
}

TEST(HttpRequestParserTest, KnowsWhenTheConnectionCloses) {
  HttpRequestParser close(kBodyMax);
  ASSERT_FALSE(close.ParseHead("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"));
  HttpRequestParser old(kBodyMax);
  ASSERT_FALSE(old.ParseHead("GET / HTTP/1.0\r\n\r\n"));

  EXPECT_FALSE(close.keep_alive());
  EXPECT_FALSE(old.keep_alive());
}

TEST(HttpRequestParserTest, KnowsOnlyOneExpectation) {
  HttpRequestParser parser(kBodyMax);
  ASSERT_FALSE(parser.ParseHead(Post("Content-Length: 5\r\nExpect: 100-Continue\r\n")));

  EXPECT_TRUE(parser.expects_continue());
  EXPECT_EQ(StatusOf(Post("Content-Length: 5\r\nExpect: magic\r\n")), 417U);
}

TEST(HttpResponseParserTest, SkipsInterimAnswers) {
  HttpResponseParser parser(1000, false);
  const std::string text =
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\nX-A: b\r\nContent-Length: 2\r\n\r\nok";

  const auto used = parser.Parse(text);

  ASSERT_TRUE(used);
  EXPECT_EQ(*used, text.size());
  ASSERT_TRUE(parser.done());
  const HttpResponse response = parser.Take();
  EXPECT_EQ(response.status, 201U);
  EXPECT_EQ(*response.Header("x-a"), "b");
  EXPECT_EQ(response.body, "ok");
}

TEST(HttpResponseParserTest, ReadsToTheEndWithoutALength) {
  HttpResponseParser parser(1000, false);
  ASSERT_TRUE(parser.Parse("HTTP/1.1 200 OK\r\n\r\nall of it"));
  EXPECT_FALSE(parser.done());

  ASSERT_TRUE(parser.ParseEnd());

  EXPECT_EQ(parser.Take().body, "all of it");
}

TEST(HttpResponseParserTest, AHeadAnswerHasNoBody) {
  HttpResponseParser parser(1000, true);

  ASSERT_TRUE(parser.Parse("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"));

  EXPECT_TRUE(parser.done());
}

TEST(HttpResponseParserTest, RefusesTooMuchTooLittleAndNonsense) {
  HttpResponseParser large(4, false);
  HttpResponseParser cut(1000, false);
  HttpResponseParser nothing(1000, false);
  HttpResponseParser nonsense(1000, false);
  ASSERT_TRUE(cut.Parse("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab"));

  const auto too_large = large.Parse("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n");
  ASSERT_FALSE(too_large);
  EXPECT_EQ(too_large.error().code, ErrorCode::kExhausted);
  EXPECT_EQ(cut.ParseEnd().error().code, ErrorCode::kCorrupt);
  EXPECT_EQ(nothing.ParseEnd().error().code, ErrorCode::kCorrupt);
  EXPECT_EQ(nonsense.Parse("SSH-2.0-OpenSSH\r\n\r\n").error().code, ErrorCode::kCorrupt);
}

}  // namespace
}  // namespace rb
