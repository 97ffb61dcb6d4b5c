#include "common/runtime/http_server.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <future>
#include <string>
#include <vector>

#include "common/runtime/async_event.h"
#include "common/runtime/timer.h"
#include "common/runtime/unix_listener.h"
#include "tests/support/server_thread.h"
#include "tests/support/temp_tree.h"

namespace rb {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::RawClient;
using test::ServerThread;

constexpr milliseconds kPatience = seconds(10);
constexpr std::string_view kGet = "GET /x HTTP/1.1\r\nHost: a\r\n\r\n";

Task<HttpResponse> Hello(HttpRequest /*request*/) {
  HttpResponse response;
  response.body = "hello";
  co_return response;
}

HttpRequest Get(std::string target) {
  HttpRequest request;
  request.method = "GET";
  request.target = std::move(target);
  return request;
}

// Waits until the server has `count` connections: closing is seen by the loop a moment later.
bool Reaches(ServerThread& server, std::size_t count) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (std::chrono::steady_clock::now() < deadline) {
    if (server.connections() == count) return true;
  }
  return false;
}

// A handler that waits until the test opens it, and tells when it was entered.
class Gate {
 public:
  Task<HttpResponse> Handle(Loop& loop) {
    ++entered_;
    while (!open_) co_await SleepFor(loop, milliseconds(1));
    HttpResponse response;
    response.body = "through the gate";
    co_return response;
  }
  void Open() { open_ = true; }
  void AwaitEntered() const {
    while (entered_ == 0) std::this_thread::yield();
  }

 private:
  std::atomic<int> entered_ = 0;
  std::atomic<bool> open_ = false;
};

TEST(HttpServerTest, ASilentHeaderIsTimedOut) {
  HttpLimits limits;
  limits.header_timeout = milliseconds(30);
  const ServerThread server(Hello, limits);
  RawClient client(server.port());

  client.Send("GET / HTTP/1.1\r\nHos");

  const std::string answer = client.ReadToEnd();
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 408 ")) << answer;
  EXPECT_NE(answer.find("\"code\":\"request_timeout\""), std::string::npos);
}

TEST(HttpServerTest, ASlowHeaderIsTimedOutHoweverOftenItSends) {
  HttpLimits limits;
  limits.header_timeout = milliseconds(50);
  const ServerThread server(Hello, limits);
  RawClient client(server.port());
  const auto start = std::chrono::steady_clock::now();

  auto dripping = std::async(std::launch::async, [&client, start] {
    while (std::chrono::steady_clock::now() - start < milliseconds(200)) {
      client.Send("X");
      std::this_thread::yield();
    }
  });
  const std::string answer = client.ReadToEnd();
  dripping.wait();

  // A stream of X may also reach the header limit first; either way it does not stay.
  const bool refused = answer.starts_with("HTTP/1.1 408 ") || answer.starts_with("HTTP/1.1 431 ");
  EXPECT_TRUE(refused) << answer;
}

TEST(HttpServerTest, ASlowBodyIsTimedOut) {
  HttpLimits limits;
  limits.body_timeout = milliseconds(30);
  const ServerThread server(Hello, limits);
  RawClient client(server.port());

  client.Send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhe");

  EXPECT_TRUE(client.ReadToEnd().starts_with("HTTP/1.1 408 "));
}

TEST(HttpServerTest, AnIdleConnectionIsClosedWithoutAWord) {
  HttpLimits limits;
  limits.idle_timeout = milliseconds(30);
  const ServerThread server(Hello, limits);
  RawClient fresh(server.port());
  RawClient used(server.port());
  used.Send(kGet);
  EXPECT_NE(used.ReadThrough("hello").find("200 OK"), std::string::npos);

  EXPECT_EQ(fresh.ReadToEnd(), "");
  EXPECT_EQ(used.ReadToEnd(), "");
}

TEST(HttpServerTest, AClientThatDoesNotReadIsDropped) {
  HttpLimits limits;
  limits.write_timeout = milliseconds(50);
  const std::size_t bytes = std::size_t{32} << 20;  // more than both socket buffers hold
  const auto large = [](HttpRequest /*request*/) -> Task<HttpResponse> {
    HttpResponse response;
    response.body = std::string(std::size_t{32} << 20, 'x');
    co_return response;
  };
  ServerThread server(large, limits);
  RawClient client(server.port());

  client.Send(kGet);

  ASSERT_TRUE(Reaches(server, 1));
  EXPECT_TRUE(Reaches(server, 0));
  EXPECT_LT(client.ReadToEnd().size(), bytes);
}

TEST(HttpServerTest, OneConnectionTooManyIsToldSo) {
  HttpLimits limits;
  limits.connections_max = 2;
  ServerThread server(Hello, limits);
  RawClient first(server.port());
  RawClient second(server.port());
  ASSERT_TRUE(Reaches(server, 2));

  RawClient third(server.port());
  const std::string refused = third.ReadToEnd();

  EXPECT_TRUE(refused.starts_with("HTTP/1.1 503 ")) << refused;
  EXPECT_NE(refused.find("\"code\":\"overloaded\""), std::string::npos);
  first.Send(kGet);
  EXPECT_NE(first.ReadThrough("hello").find("200 OK"), std::string::npos);

  second.Close();
  ASSERT_TRUE(Reaches(server, 1));
  EXPECT_EQ(CallHttp(server.endpoint(), Get("/"), kPatience)->status, 200U);
}

TEST(HttpServerTest, AThrowingHandlerIsAnInternalErrorAndTheServerLives) {
  const ServerThread server([](HttpRequest request) -> Task<HttpResponse> {
    HttpResponse response;
    response.body = std::to_string(std::stoi(request.path.substr(1)));
    co_return response;
  });

  ::testing::internal::CaptureStderr();
  const auto failed = CallHttp(server.endpoint(), Get("/not-a-number"), kPatience);
  const std::string log = ::testing::internal::GetCapturedStderr();

  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->status, 500U);
  EXPECT_EQ(failed->body.find("stoi"), std::string::npos);  // the cause is for the log only
  EXPECT_NE(log.find("the handler of GET /not-a-number threw: stoi"), std::string::npos);
  EXPECT_EQ(CallHttp(server.endpoint(), Get("/7"), kPatience)->body, "7");
}

TEST(HttpServerTest, SeesWhoIsCalling) {
  const test::TempTree tree;
  const std::string path = tree.Path("socket");
  std::promise<Peer> seen;
  const ServerThread server(ListenUnixStream(path, 0600),
                            [&seen](HttpRequest request) -> Task<HttpResponse> {
                              seen.set_value(request.peer);
                              co_return HttpResponse{};
                            });

  const HttpEndpoint endpoint{.unix_path = path, .host = {}, .port = 0};
  ASSERT_TRUE(CallHttp(endpoint, Get("/"), kPatience));

  const Peer peer = seen.get_future().get();
  EXPECT_EQ(peer.address, "unix");
  EXPECT_EQ(peer.credentials,
            (PeerCredentials{.pid = ::getpid(), .uid = ::getuid(), .gid = ::getgid()}));
}

TEST(HttpServerTest, TcpPeersHaveAnAddressAndNoCredentials) {
  std::promise<Peer> seen;
  const ServerThread server([&seen](HttpRequest request) -> Task<HttpResponse> {
    seen.set_value(request.peer);
    co_return HttpResponse{};
  });

  ASSERT_TRUE(CallHttp(server.endpoint(), Get("/"), kPatience));

  const Peer peer = seen.get_future().get();
  EXPECT_TRUE(peer.address.starts_with("127.0.0.1:")) << peer.address;
  EXPECT_FALSE(peer.credentials);
}

TEST(HttpServerTest, StopLetsTheRequestInFlightFinish) {
  Gate gate;
  ServerThread* running = nullptr;
  ServerThread server([&](HttpRequest /*request*/) { return gate.Handle(running->loop()); });
  running = &server;
  RawClient idle(server.port());
  RawClient busy(server.port());
  busy.Send(kGet);
  gate.AwaitEntered();

  std::future<void> stopped = server.Stop();
  EXPECT_EQ(idle.ReadToEnd(), "");
  EXPECT_EQ(stopped.wait_for(seconds(0)), std::future_status::timeout);
  gate.Open();

  const std::string answer = busy.ReadToEnd();
  EXPECT_NE(answer.find("through the gate"), std::string::npos);
  EXPECT_NE(answer.find("Connection: close\r\n"), std::string::npos);
  stopped.get();
  EXPECT_EQ(server.connections(), 0U);
}

TEST(HttpServerTest, StopDropsWhatDoesNotFinishInTime) {
  HttpLimits limits;
  limits.drain_timeout = milliseconds(30);
  Gate gate;
  ServerThread* running = nullptr;
  ServerThread server([&](HttpRequest /*request*/) { return gate.Handle(running->loop()); },
                      limits);
  running = &server;
  RawClient busy(server.port());
  busy.Send(kGet);
  gate.AwaitEntered();

  server.Stop().get();

  EXPECT_EQ(busy.ReadToEnd(), "");
}

TEST(HttpServerTest, AfterStopNobodyAnswers) {
  ServerThread server(Hello);
  ASSERT_TRUE(CallHttp(server.endpoint(), Get("/"), kPatience));

  server.Stop().get();

  const auto refused = CallHttp(server.endpoint(), Get("/"), kPatience);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
}

TEST(HttpServerTest, ServesManyClientsAtOnce) {
  const ServerThread server(Hello);
  std::vector<std::future<int>> clients;
  clients.reserve(4);

  for (int i = 0; i < 4; ++i) {
    clients.push_back(std::async(std::launch::async, [&server] {
      int good = 0;
      for (int call = 0; call < 25; ++call) {
        const auto response = CallHttp(server.endpoint(), Get("/"), kPatience);
        good += response && response->body == "hello" ? 1 : 0;
      }
      return good;
    }));
  }

  for (auto& client : clients) EXPECT_EQ(client.get(), 25);
}

TEST(HttpServerTest, CanBeDestroyedWhileAHandlerWaits) {
  Gate gate;
  ServerThread* running = nullptr;
  ServerThread server([&](HttpRequest /*request*/) { return gate.Handle(running->loop()); });
  running = &server;
  RawClient client(server.port());

  client.Send(kGet);
  gate.AwaitEntered();
  // The destructor of ServerThread stops the loop, then destroys server and loop with the task
  // inside.
}

}  // namespace
}  // namespace rb
