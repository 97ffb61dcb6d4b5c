// An HttpServer with a loop of its own in a thread, and a raw socket to talk to it byte by byte.
//
//   ServerThread server(handler);
//   RawClient client(server.port());
//   client.Send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "common/bare/unique_fd.h"
#include "common/base/result.h"
#include "common/runtime/http_client.h"
#include "common/runtime/http_server.h"
#include "common/runtime/loop.h"
#include "common/runtime/tcp_listener.h"
#include "common/runtime/timer.h"

namespace rb::test {

class ServerThread {
 public:
  // On a free TCP port of 127.0.0.1.
  explicit ServerThread(HttpHandler handler, HttpLimits limits = {})
      : ServerThread(ListenTcp("127.0.0.1", 0), std::move(handler), limits) {}

  // On `listener`, for Unix sockets.
  ServerThread(Result<UniqueFd> listener, HttpHandler handler, HttpLimits limits = {}) {
    RB_CHECK(listener.has_value());
    port_ = BoundPort(listener->get()).value_or(0);
    server_ = std::make_unique<HttpServer>(loop_, std::move(*listener), std::move(handler), limits);
    server_->Start();
    // Work without end: the loop goes on after Stop(), for later OnLoop() calls.
    loop_.Spawn(SleepFor(loop_, std::chrono::hours(24)));
    thread_ = std::thread([this] { loop_.Run(); });
  }

  ~ServerThread() {
    // Posted, because Stop() before the thread has entered Run() would be lost.
    loop_.Post([this] { loop_.Stop(); });
    thread_.join();
    server_.reset();
  }
  ServerThread(const ServerThread&) = delete;
  ServerThread& operator=(const ServerThread&) = delete;

  std::uint16_t port() const { return port_; }
  HttpEndpoint endpoint() const { return {.unix_path = {}, .host = "127.0.0.1", .port = port_}; }
  Loop& loop() { return loop_; }

  // Runs `fn` on the loop and returns what it returned.
  template <class Fn>
  auto OnLoop(Fn fn) {
    auto call = std::make_shared<std::packaged_task<std::invoke_result_t<Fn>()>>(std::move(fn));
    auto result = call->get_future();
    loop_.Post([call] { (*call)(); });
    return result.get();
  }

  std::size_t connections() {
    return OnLoop([this] { return server_->connections(); });
  }

  // Begins Stop(); the future is ready when it has resumed.
  std::future<void> Stop() {
    auto stopped = std::make_shared<std::promise<void>>();
    loop_.Post([this, stopped] { loop_.Spawn(StopThenTell(*server_, stopped)); });
    return stopped->get_future();
  }

 private:
  static Task<void> StopThenTell(HttpServer& server, std::shared_ptr<std::promise<void>> stopped) {
    co_await server.Stop();
    stopped->set_value();
  }

  Loop loop_;
  std::uint16_t port_ = 0;
  std::unique_ptr<HttpServer> server_;
  std::thread thread_;
};

// A blocking TCP socket to 127.0.0.1. A read that waits 10 s ends like a closed connection.
class RawClient {
 public:
  explicit RawClient(std::uint16_t port)
      : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const timeval patience{.tv_sec = 10, .tv_usec = 0};
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    RB_CHECK(::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address),
                       sizeof(address)) == 0);
  }

  void Send(std::string_view text) {
    while (!text.empty()) {
      const ssize_t sent = ::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;  // the server has closed; what it said is what matters
      text.remove_prefix(static_cast<std::size_t>(sent));
    }
  }

  // No more will be sent; the answer can still be read.
  void FinishSending() { ::shutdown(socket_.get(), SHUT_WR); }

  void Close() { socket_.Reset(); }

  // Everything until the server closes.
  std::string ReadToEnd() {
    while (Receive()) {
    }
    return std::exchange(received_, {});
  }

  // Everything through the first `mark`; what follows stays for the next read.
  std::string ReadThrough(std::string_view mark) {
    while (received_.find(mark) == std::string::npos) {
      if (!Receive()) return std::exchange(received_, {});
    }
    const std::size_t end = received_.find(mark) + mark.size();
    std::string text = received_.substr(0, end);
    received_.erase(0, end);
    return text;
  }

 private:
  bool Receive() {
    std::array<char, 65536> chunk{};
    const ssize_t got = ::recv(socket_.get(), chunk.data(), chunk.size(), 0);
    if (got <= 0) return false;
    received_.append(chunk.data(), static_cast<std::size_t>(got));
    return true;
  }

  UniqueFd socket_;
  std::string received_;
};

}  // namespace rb::test
