// What the server says to bytes that no honest client sends.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/runtime/http_connection.h"
#include "tests/support/server_thread.h"

namespace rb {
namespace {

using test::RawClient;
using test::ServerThread;

Task<HttpResponse> Echo(HttpRequest request) {
  HttpResponse response;
  response.body = request.method + " " + request.path + " [" + request.body + "]";
  co_return response;
}

HttpLimits SmallLimits() {
  HttpLimits limits;
  limits.body_bytes_max = 100;
  limits.header_bytes_max = 1000;
  return limits;
}

unsigned StatusOf(const std::string& response) {
  return response.size() < 12 ? 0 : static_cast<unsigned>(std::stoul(response.substr(9, 3)));
}

std::size_t CountOf(const std::string& text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

// Sends `text` and reads until the server closes.
std::string Provoke(const ServerThread& server, const std::string& text) {
  RawClient client(server.port());
  client.Send(text);
  return client.ReadToEnd();
}

struct Attack {
  std::string text;
  unsigned status;
};

TEST(HttpFramingTest, RefusesAttacksWithOneProblemAndCloses) {
  const ServerThread server(Echo, SmallLimits());
  const std::string smuggled = "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n";
  const std::vector<Attack> attacks = {
      {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: "
       "chunked\r\n\r\n0\r\n\r\n" +
           smuggled,
       400},
      {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: "
       "3\r\n\r\n0\r\n\r\n" +
           smuggled,
       400},
      {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nContent-Length: 0\r\n\r\n" + smuggled,
       400},
      {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0, 0\r\n\r\n" + smuggled, 400},
      {"POST / HTTP/1.1\r\nHost: a\r\nX: y\r\n Content-Length: 40\r\n\r\n" + smuggled, 400},
      {"POST / HTTP/1.1\r\nHost: a\r\nX: y\nContent-Length: 40\r\n\r\n" + smuggled, 400},
      {"GET / HTTP/1.1\nHost: a\n\n" + smuggled, 400},
      {"GET / HTTP/1.1\r\nHost: a\r\nX: a\rb\r\n\r\n" + smuggled, 400},
      {"GET / HTTP/1.1\r\nHost : a\r\n\r\n" + smuggled, 400},
      {"GET / HTTP/1.1\r\n\r\n" + smuggled, 400},
      {"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n" + smuggled, 400},
      {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n" + smuggled, 501},
      {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n" + smuggled, 400},
      {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\nx\n0\n\n" + smuggled,
       400},
      {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400},
      {"\x16\x03\x01\x02", 0},  // a TLS hello has no line: it ends at the client's close
  };

  for (const Attack& attack : attacks) {
    RawClient client(server.port());
    client.Send(attack.text);
    if (attack.status == 0) client.FinishSending();

    const std::string answer = client.ReadToEnd();

    EXPECT_EQ(StatusOf(answer), attack.status) << attack.text << "\n---\n" << answer;
    EXPECT_EQ(CountOf(answer, "HTTP/1.1 "), attack.status == 0 ? 0U : 1U) << attack.text;
    EXPECT_EQ(answer.find("/smuggled"), std::string::npos) << attack.text;
    if (attack.status == 0) continue;
    EXPECT_NE(answer.find("Connection: close\r\n"), std::string::npos);
    EXPECT_NE(answer.find("Content-Type: application/problem+json\r\n"), std::string::npos);
    EXPECT_NE(answer.find("\"code\":"), std::string::npos);
  }
}

TEST(HttpFramingTest, AcceptsTheLargestHeadAndRefusesOneByteMore) {
  const ServerThread server(Echo, SmallLimits());
  const std::string start = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX: ";
  const std::string fits = start + std::string(1000 - start.size() - 4, 'x') + "\r\n\r\n";
  const std::string more = start + std::string(1000 - start.size() - 3, 'x') + "\r\n\r\n";
  ASSERT_EQ(fits.size(), 1000U);

  EXPECT_EQ(StatusOf(Provoke(server, fits)), 200U);
  EXPECT_EQ(StatusOf(Provoke(server, more)), 431U);
}

TEST(HttpFramingTest, AnEndlessHeadIsRefusedBeforeItEnds) {
  const ServerThread server(Echo, SmallLimits());

  const std::string answer = Provoke(server, "GET / HTTP/1.1\r\nX: " + std::string(100'000, 'x'));

  EXPECT_EQ(StatusOf(answer), 431U);
  EXPECT_NE(answer.find("\"code\":\"headers_too_large\""), std::string::npos);
}

TEST(HttpFramingTest, AcceptsTheLargestBodyAndRefusesOneByteMore) {
  const ServerThread server(Echo, SmallLimits());
  const auto post = [](std::size_t bytes) {
    return "POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: " +
           std::to_string(bytes) + "\r\n\r\n" + std::string(bytes, 'b');
  };

  EXPECT_EQ(StatusOf(Provoke(server, post(100))), 200U);

  const std::string refused = Provoke(server, post(101));
  EXPECT_EQ(StatusOf(refused), 413U);
  EXPECT_NE(refused.find("\"code\":\"body_too_large\""), std::string::npos);
}

TEST(HttpFramingTest, AnEndlessChunkHeaderIsRefused) {
  const ServerThread server(Echo, SmallLimits());

  EXPECT_EQ(StatusOf(Provoke(server,
                             "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1;" +
                                 std::string(50'000, 'x'))),
            400U);
}

TEST(HttpFramingTest, PipelinedRequestsAreAnsweredInOrder) {
  const ServerThread server(Echo, SmallLimits());

  const std::string answers = Provoke(
      server,
      "GET /1 HTTP/1.1\r\nHost: a\r\n\r\n"
      "POST /2 HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello"
      "\r\n"  // an empty line between requests is skipped
      "POST /3 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
      "GET /4 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
      "GET /5 HTTP/1.1\r\nHost: a\r\n\r\n");

  EXPECT_EQ(CountOf(answers, "HTTP/1.1 200 OK"), 4U);
  const std::size_t first = answers.find("GET /1 []");
  const std::size_t second = answers.find("POST /2 [hello]");
  const std::size_t third = answers.find("POST /3 [abc]");
  const std::size_t fourth = answers.find("GET /4 []");
  EXPECT_LT(first, second);
  EXPECT_LT(second, third);
  EXPECT_LT(third, fourth);
  EXPECT_NE(fourth, std::string::npos);
}

TEST(HttpFramingTest, ARequestMayArriveByteByByte) {
  const ServerThread server(Echo, SmallLimits());
  RawClient client(server.port());
  const std::string request =
      "POST /x HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok";

  for (const char c : request) client.Send({&c, 1});

  EXPECT_NE(client.ReadToEnd().find("POST /x [ok]"), std::string::npos);
}

TEST(HttpFramingTest, HeadHasTheLengthButNoBody) {
  const ServerThread server(Echo, SmallLimits());

  const std::string answer =
      Provoke(server, "HEAD /x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");

  EXPECT_EQ(StatusOf(answer), 200U);
  EXPECT_NE(answer.find("Content-Length: 10\r\n"), std::string::npos);
  EXPECT_TRUE(answer.ends_with("\r\n\r\n")) << answer;
}

TEST(HttpFramingTest, ContinuesAClientThatAsks) {
  const ServerThread server(Echo, SmallLimits());
  RawClient client(server.port());

  client.Send(
      "POST /x HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 2\r\n"
      "Expect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.ReadThrough("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.Send("ok");

  EXPECT_NE(client.ReadToEnd().find("POST /x [ok]"), std::string::npos);
}

TEST(HttpFramingTest, DoesNotContinueWhatItWillRefuse) {
  const ServerThread server(Echo, SmallLimits());

  const std::string answer = Provoke(
      server, "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 101\r\nExpect: 100-continue\r\n\r\n");

  EXPECT_EQ(StatusOf(answer), 413U);
}

TEST(HttpFramingTest, ContinueIsNotSentWhenTheBodyIsAlreadyHere) {
  const ServerThread server(Echo, SmallLimits());

  const std::string answer =
      Provoke(server,
              "POST /x HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 2\r\n"
              "Expect: 100-continue\r\n\r\nok");

  EXPECT_EQ(StatusOf(answer), 200U);
}

TEST(HttpFramingTest, OldClientsGetOneAnswerAndAClose) {
  const ServerThread server(Echo, SmallLimits());

  const std::string answer = Provoke(server, "GET /old HTTP/1.0\r\n\r\n");

  EXPECT_EQ(StatusOf(answer), 200U);
  EXPECT_NE(answer.find("GET /old []"), std::string::npos);
}

TEST(ResponseHeadTest, AHeaderValueCannotStartAnother) {
  HttpResponse response;
  response.headers = {{"Location", "/x\r\nSet-Cookie: a"}};

  const std::string head = ResponseHead(response, true);

  EXPECT_NE(head.find("Location: /x  Set-Cookie: a\r\n"), std::string::npos) << head;
}

TEST(ResponseHeadTest, NoContentHasNoLength) {
  HttpResponse response;
  response.status = 204;

  const std::string head = ResponseHead(response, true);

  EXPECT_TRUE(head.starts_with("HTTP/1.1 204 No Content\r\nDate: "));
  EXPECT_EQ(head.find("Content-Length"), std::string::npos);
  EXPECT_EQ(head.find("Connection"), std::string::npos);
}

}  // namespace
}  // namespace rb
