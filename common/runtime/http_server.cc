#include "common/runtime/http_server.h"

#include <sys/socket.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <set>
#include <string>
#include <utility>

#include "common/base/result.h"
#include "common/runtime/fd_watch.h"
#include "common/runtime/http_connection.h"
#include "common/runtime/log.h"
#include "common/runtime/timer.h"

namespace rb {
namespace {

// After running out of descriptors or memory: time for connections to end before the next try.
constexpr std::chrono::milliseconds kAcceptPause{100};

bool IsTransient(int error) {
  return error == EINTR || error == ECONNABORTED || error == EPROTO || error == ENETDOWN ||
         error == EHOSTUNREACH || error == ENETUNREACH;
}

// One try without waiting: the socket is fresh, so its buffer is empty.
void SendOverloaded(const UniqueFd& socket) {
  const HttpResponse response =
      ProblemResponse(503, "overloaded", "too many connections: try again later");
  const std::string bytes = ResponseHead(response, false) + response.body;
  ::send(socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  ::shutdown(socket.get(), SHUT_WR);
}

}  // namespace

class HttpServer::Impl : public std::enable_shared_from_this<HttpServer::Impl> {
 public:
  Impl(Loop& loop, UniqueFd listener, HttpHandler handler, HttpLimits limits)
      : loop_(loop),
        listener_(std::move(listener)),
        watch_(loop, listener_.get()),
        drained_(loop.context()),
        handler_(std::move(handler)),
        limits_(limits) {}

  static Task<void> AcceptLoop(std::shared_ptr<Impl> self);
  static Task<void> Drain(std::shared_ptr<Impl> self);

  void Start() { loop_.Spawn(AcceptLoop(shared_from_this())); }

  void StopAccepting() {
    stopping_ = true;
    watch_.Cancel();
    // Refuses new connections from now on instead of leaving them in the backlog.
    ::shutdown(listener_.get(), SHUT_RDWR);
  }

  void DropAll() {
    for (const auto& connection : connections_) connection->Drop();
  }

  std::size_t connections() const { return connections_.size(); }

 private:
  static Task<void> Serve(std::shared_ptr<Impl> self, std::shared_ptr<HttpConnection> connection);
  void Admit(UniqueFd socket);

  Loop& loop_;
  UniqueFd listener_;
  FdWatch watch_;
  boost::asio::steady_timer drained_;
  const HttpHandler handler_;
  const HttpLimits limits_;
  std::set<std::shared_ptr<HttpConnection>> connections_;
  bool stopping_ = false;
};

Task<void> HttpServer::Impl::AcceptLoop(std::shared_ptr<Impl> self) {
  while (!self->stopping_) {
    UniqueFd socket(
        ::accept4(self->listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    const int error = errno;
    if (socket) {
      self->Admit(std::move(socket));
    } else if (error == EAGAIN) {
      const Result<void> ready = co_await self->watch_.Readable();
      if (!ready) co_return;
    } else if (!IsTransient(error)) {
      const auto failure = FailErrno("accept a connection", error);
      RB_LOG_WARN("http: {}", failure.value().message);
      co_await SleepFor(self->loop_, kAcceptPause);
    }
  }
}

void HttpServer::Impl::Admit(UniqueFd socket) {
  if (connections_.size() >= limits_.connections_max) {
    SendOverloaded(socket);
    return;
  }
  auto connection = std::make_shared<HttpConnection>(loop_, std::move(socket), handler_, limits_);
  connections_.insert(connection);
  loop_.Spawn(Serve(shared_from_this(), std::move(connection)));
}

Task<void> HttpServer::Impl::Serve(std::shared_ptr<Impl> self,
                                   std::shared_ptr<HttpConnection> connection) {
  co_await HttpConnection::Serve(connection);
  self->connections_.erase(connection);
  if (self->connections_.empty()) self->drained_.cancel();
}

Task<void> HttpServer::Impl::Drain(std::shared_ptr<Impl> self) {
  self->StopAccepting();
  for (const auto& connection : self->connections_) connection->Drain();
  if (self->connections_.empty()) co_return;
  constexpr auto kNoThrow = boost::asio::as_tuple(boost::asio::use_awaitable);
  self->drained_.expires_after(self->limits_.drain_timeout);
  co_await self->drained_.async_wait(kNoThrow);
  self->DropAll();
}

HttpServer::HttpServer(Loop& loop, UniqueFd listener, HttpHandler handler, HttpLimits limits)
    : impl_(std::make_shared<Impl>(loop, std::move(listener), std::move(handler), limits)) {}

HttpServer::~HttpServer() {
  impl_->StopAccepting();
  impl_->DropAll();
}

void HttpServer::Start() { impl_->Start(); }

Task<void> HttpServer::Stop() { return Impl::Drain(impl_); }

std::size_t HttpServer::connections() const { return impl_->connections(); }

}  // namespace rb
