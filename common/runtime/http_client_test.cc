#include "common/runtime/http_client.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <future>
#include <string>

#include "common/runtime/unix_listener.h"
#include "tests/support/server_thread.h"
#include "tests/support/temp_tree.h"

namespace rb {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::ServerThread;

constexpr milliseconds kPatience = seconds(10);

// Answers with everything it was sent.
Task<HttpResponse> Mirror(HttpRequest request) {
  HttpResponse response;
  response.status = 201;
  response.headers.emplace_back("X-Method", request.method);
  for (const auto& [name, value] : request.headers) response.body += name + "=" + value + ";";
  for (const auto& [name, value] : request.query) response.body += name + "=" + value + ";";
  response.body += request.body;
  co_return response;
}

HttpRequest Post(std::string target, std::string body) {
  HttpRequest request;
  request.method = "POST";
  request.target = std::move(target);
  request.body = std::move(body);
  return request;
}

// Accepts one connection and answers with `bytes`, whatever it was asked.
std::future<void> AnswerOnce(const UniqueFd& listener, std::string bytes) {
  return std::async(std::launch::async, [fd = listener.get(), bytes = std::move(bytes)] {
    // The listener does not block: take the connection when it is there.
    UniqueFd socket;
    while (!socket) socket.Reset(::accept4(fd, nullptr, nullptr, SOCK_CLOEXEC));
    std::string request(65536, '\0');
    (void)::recv(socket.get(), request.data(), request.size(), 0);
    (void)::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  });
}

class RawServerTest : public ::testing::Test {
 protected:
  RawServerTest() : listener_(ListenUnixStream(tree_.Path("s"), 0600)) {
    RB_CHECK(listener_.has_value());
  }

  Result<HttpResponse> CallWith(const std::string& answer) {
    const std::future<void> server = AnswerOnce(*listener_, answer);
    return CallHttp(endpoint(), Post("/", ""), kPatience);
  }

  HttpEndpoint endpoint() const { return {.unix_path = tree_.Path("s"), .host = {}, .port = 0}; }

  test::TempTree tree_;
  Result<UniqueFd> listener_;
};

TEST(CallHttpTest, SendsEverythingAndReturnsTheAnswer) {
  const ServerThread server(Mirror);
  HttpRequest request = Post("/v1/x?q=a%20b", "the body");
  request.headers.emplace_back("Authorization", "Bearer t");

  const auto response = CallHttp(server.endpoint(), request, kPatience);

  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->status, 201U);
  EXPECT_EQ(*response->Header("x-method"), "POST");
  EXPECT_NE(response->body.find("host=127.0.0.1:" + std::to_string(server.port()) + ";"),
            std::string::npos);
  EXPECT_NE(response->body.find("authorization=Bearer t;"), std::string::npos);
  EXPECT_NE(response->body.find("q=a b;the body"), std::string::npos);
}

TEST(CallHttpTest, WorksOverAUnixSocket) {
  const test::TempTree tree;
  const ServerThread server(ListenUnixStream(tree.Path("s"), 0600), Mirror);
  const HttpEndpoint endpoint{.unix_path = tree.Path("s"), .host = {}, .port = 0};

  const auto response = CallHttp(endpoint, Post("/", "x"), kPatience);

  ASSERT_TRUE(response) << response.error().message;
  EXPECT_NE(response->body.find("host=localhost;"), std::string::npos);
}

TEST(CallHttpTest, CarriesALargeBodyBothWays) {
  HttpLimits limits;
  limits.body_bytes_max = std::size_t{8} << 20;
  const ServerThread server(Mirror, limits);
  const std::string body(std::size_t{8} << 20, 'b');

  const auto response = CallHttp(server.endpoint(), Post("/", body), kPatience);

  ASSERT_TRUE(response) << response.error().message;
  EXPECT_TRUE(response->body.ends_with(body));
}

TEST(CallHttpTest, ReadsTheRefusalOfABodyItCouldNotFinishSending) {
  HttpLimits limits;
  limits.body_bytes_max = 10;
  const ServerThread server(Mirror, limits);

  const auto response =
      CallHttp(server.endpoint(), Post("/", std::string(200'000, 'b')), kPatience);

  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->status, 413U);
}

TEST(CallHttpTest, HeadHasNoBody) {
  const ServerThread server(Mirror);
  HttpRequest request;
  request.method = "HEAD";
  request.target = "/";

  const auto response = CallHttp(server.endpoint(), request, kPatience);

  ASSERT_TRUE(response);
  EXPECT_EQ(response->body, "");
  EXPECT_NE(*response->Header("content-length"), "0");
}

TEST(CallHttpTest, NobodyThereIsUnavailable) {
  const test::TempTree tree;
  std::uint16_t port = 0;
  {
    const auto listener = ListenTcp("127.0.0.1", 0);
    port = *BoundPort(listener->get());
  }

  const auto unix_call =
      CallHttp({.unix_path = tree.Path("gone"), .host = {}, .port = 0}, Post("/", ""), kPatience);
  const auto tcp_call =
      CallHttp({.unix_path = {}, .host = "127.0.0.1", .port = port}, Post("/", ""), kPatience);

  ASSERT_FALSE(unix_call);
  EXPECT_EQ(unix_call.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(unix_call.error().message.find("gone"), std::string::npos);
  ASSERT_FALSE(tcp_call);
  EXPECT_EQ(tcp_call.error().code, ErrorCode::kUnavailable);
}

TEST(CallHttpTest, RefusesRequestsThatWouldBecomeTwo) {
  HttpRequest header = Post("/", "");
  header.headers.emplace_back("X", "a\r\nY: b");
  const HttpEndpoint nowhere{.unix_path = "/nowhere", .host = {}, .port = 0};

  EXPECT_EQ(CallHttp(nowhere, header, kPatience).error().code, ErrorCode::kInvalid);
  EXPECT_EQ(CallHttp(nowhere, Post("/a b", ""), kPatience).error().code, ErrorCode::kInvalid);
  EXPECT_EQ(CallHttp(nowhere, Post("x", ""), kPatience).error().code, ErrorCode::kInvalid);
}

TEST_F(RawServerTest, ASilentServerTimesOut) {
  // The listener's backlog takes the connection; nobody accepts it.
  const auto response = CallHttp(endpoint(), Post("/", ""), milliseconds(30));

  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code, ErrorCode::kTimeout);
}

TEST_F(RawServerTest, AnAnswerThatIsNoHttpIsCorrupt) {
  EXPECT_EQ(CallWith("220 mail.example.com ESMTP\r\n\r\n").error().code, ErrorCode::kCorrupt);
}

TEST_F(RawServerTest, ACutAnswerIsCorrupt) {
  EXPECT_EQ(CallWith("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc").error().code,
            ErrorCode::kCorrupt);
  EXPECT_EQ(CallWith("").error().code, ErrorCode::kCorrupt);
}

TEST_F(RawServerTest, AnAnswerPastTheLimitIsRefused) {
  const auto response =
      CallWith("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(kHttpResponseBytesMax + 1) +
               "\r\n\r\nabc");

  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code, ErrorCode::kExhausted);
}

TEST_F(RawServerTest, AChunkedAnswerIsPutTogether) {
  const auto response = CallWith(
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n");

  ASSERT_TRUE(response);
  EXPECT_EQ(response->body, "abcde");
}

}  // namespace
}  // namespace rb
