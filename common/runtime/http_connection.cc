#include "common/runtime/http_connection.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <ctime>
#include <exception>
#include <utility>

#include "common/runtime/http_head.h"
#include "common/runtime/log.h"

namespace rb {
namespace {

constexpr std::size_t kReadBytes = std::size_t{16} * 1024;
// A refused client may still be sending: read that much of it before closing, because closing a
// socket with unread input resets the connection and can take our answer with it.
constexpr std::size_t kLingerBytesMax = std::size_t{256} * 1024;
constexpr std::chrono::milliseconds kLingerTime{500};

std::string AddressText(const sockaddr_storage& storage) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (storage.ss_family == AF_INET) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(&storage);
    ::inet_ntop(AF_INET, &v4->sin_addr, text.data(), text.size());
    return std::string(text.data()) + ":" + std::to_string(ntohs(v4->sin_port));
  }
  if (storage.ss_family == AF_INET6) {
    const auto* v6 = reinterpret_cast<const sockaddr_in6*>(&storage);
    ::inet_ntop(AF_INET6, &v6->sin6_addr, text.data(), text.size());
    return "[" + std::string(text.data()) + "]:" + std::to_string(ntohs(v6->sin6_port));
  }
  return "unix";
}

Peer PeerOf(int socket) {
  Peer peer;
  sockaddr_storage storage{};
  socklen_t bytes = sizeof(storage);
  if (::getpeername(socket, reinterpret_cast<sockaddr*>(&storage), &bytes) != 0) return peer;
  peer.address = AddressText(storage);
  ucred credentials{};
  bytes = sizeof(credentials);
  if (storage.ss_family == AF_UNIX &&
      ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &bytes) == 0) {
    peer.credentials =
        PeerCredentials{.pid = credentials.pid, .uid = credentials.uid, .gid = credentials.gid};
  }
  return peer;
}

std::string HttpDate() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  std::array<char, 40> text{};
  const std::size_t length =
      std::strftime(text.data(), text.size(), "%a, %d %b %Y %H:%M:%S GMT", &utc);
  return {text.data(), length};
}

bool HasBody(unsigned status) { return status / 100 != 1 && status != 204 && status != 304; }

// A value with a line break would let whoever chose it write headers of its own.
std::string OneLine(std::string value) {
  for (char& c : value) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return value;
}

}  // namespace

std::string ResponseHead(const HttpResponse& response, bool keep_alive) {
  std::string head = "HTTP/1.1 " + std::to_string(response.status) + " ";
  head += StatusTitle(response.status);
  head += "\r\nDate: " + HttpDate() + "\r\n";
  for (const auto& [name, value] : response.headers) {
    head += OneLine(name) + ": " + OneLine(value) + "\r\n";
  }
  if (HasBody(response.status)) {
    head += "Content-Length: " + std::to_string(response.body.size()) + "\r\n";
  }
  if (!keep_alive) head += "Connection: close\r\n";
  return head + "\r\n";
}

HttpConnection::HttpConnection(Loop& loop, UniqueFd socket, const HttpHandler& handler,
                               const HttpLimits& limits)
    : handler_(handler),
      limits_(limits),
      socket_(std::move(socket)),
      watch_(loop, socket_.get()),
      deadline_(loop.context()),
      peer_(PeerOf(socket_.get())) {}

Task<void> HttpConnection::Serve(std::shared_ptr<HttpConnection> self) {
  bool more = true;
  while (more) {
    // A client that pipelines without end must not keep the loop from others.
    co_await boost::asio::post(boost::asio::use_awaitable);
    more = co_await self->ServeOne();
  }
  if (self->refusal_) co_await self->Linger();
  self->ClearDeadline();
  ::shutdown(self->socket_.get(), SHUT_RDWR);
}

void HttpConnection::Drain() {
  draining_ = true;
  if (idle_) watch_.Cancel();
}

void HttpConnection::Drop() {
  dropped_ = true;
  watch_.Cancel();
  ::shutdown(socket_.get(), SHUT_RDWR);
}

// Returns whether another request may follow.
Task<bool> HttpConnection::ServeOne() {
  HttpRequestParser parser(limits_.body_bytes_max);
  Step step = co_await ReadHead(parser);
  if (step == Step::kGo) step = co_await ReadBody(parser);
  if (step == Step::kEnd) co_return false;
  if (step == Step::kRefuse) {
    co_await Respond(*refusal_, false, false);
    co_return false;
  }

  ClearDeadline();
  HttpRequest request = parser.Take();
  request.peer = peer_;
  const bool head_only = request.method == "HEAD";
  Task<HttpResponse> answer = RunHandler(std::move(request));
  const HttpResponse response = co_await std::move(answer);
  const bool keep_alive = parser.keep_alive() && !draining_;
  const bool written = co_await Respond(response, head_only, keep_alive);
  // Drain() may have come while the response was written: the client then sees a plain close.
  const bool again = written && keep_alive && !draining_;
  co_return again;
}

Task<HttpConnection::Step> HttpConnection::ReadHead(HttpRequestParser& parser) {
  HeadScanner scanner;
  idle_ = buffer_.empty();
  SetDeadline(idle_ ? limits_.idle_timeout : limits_.header_timeout);
  while (true) {
    const HeadState state = scanner.Scan(buffer_);
    if (state == HeadState::kBroken) co_return Refuse(400, "bad_request", scanner.problem());
    if (state == HeadState::kComplete && scanner.head_bytes() == 2) {
      // RFC 9112, 2.2: empty lines before a request are skipped; the deadline bounds them.
      buffer_.erase(0, 2);
      scanner = HeadScanner();
      continue;
    }
    const std::size_t head_bytes =
        state == HeadState::kComplete ? scanner.head_bytes() : buffer_.size();
    if (head_bytes > limits_.header_bytes_max) {
      co_return Refuse(431, "headers_too_large", "the headers are larger than allowed");
    }
    if (state == HeadState::kComplete) break;

    const Input input = co_await Fill();
    if (input != Input::kData) co_return AfterInput(input, "the headers");
    if (idle_) SetDeadline(limits_.header_timeout);
    idle_ = false;
  }
  idle_ = false;
  const auto refusal = parser.ParseHead(std::string_view(buffer_).substr(0, scanner.head_bytes()));
  buffer_.erase(0, scanner.head_bytes());
  co_return refusal ? Refuse(*refusal) : Step::kGo;
}

Task<HttpConnection::Step> HttpConnection::ReadBody(HttpRequestParser& parser) {
  SetDeadline(limits_.body_timeout);
  bool announced = !parser.expects_continue();
  while (!parser.done()) {
    std::size_t used = 0;
    if (const auto refusal = parser.ParseBody(buffer_, &used)) co_return Refuse(*refusal);
    buffer_.erase(0, used);
    if (parser.done()) break;
    // What the parser left waits for more of a chunk's framing, which is short.
    if (buffer_.size() > limits_.header_bytes_max) {
      co_return Refuse(400, "bad_request", "an endless chunk header");
    }
    if (!announced) {
      announced = true;
      std::string interim = "HTTP/1.1 100 Continue\r\n\r\n";
      const bool written = co_await Write(std::move(interim));
      if (!written) co_return Step::kEnd;
    }
    const Input input = co_await Fill();
    if (input != Input::kData) co_return AfterInput(input, "the body");
  }
  co_return Step::kGo;
}

Task<HttpResponse> HttpConnection::RunHandler(HttpRequest request) {
  const std::string what = request.method + " " + request.path;
  try {
    Task<HttpResponse> task = handler_(std::move(request));
    co_return co_await std::move(task);
  } catch (const std::exception& e) {
    RB_LOG_ERROR("http: the handler of {} threw: {}", what, e.what());
  }
  co_return ProblemResponse(500, "internal", "the server could not handle the request");
}

Task<HttpConnection::Input> HttpConnection::Fill() {
  std::array<char, kReadBytes> chunk;  // NOLINT: recv fills it
  while (!dropped_ && !(draining_ && idle_)) {
    const ssize_t got = ::recv(socket_.get(), chunk.data(), chunk.size(), MSG_DONTWAIT);
    if (got > 0) {
      buffer_.append(chunk.data(), static_cast<std::size_t>(got));
      co_return Input::kData;
    }
    if (got < 0 && errno == EINTR) continue;
    if (got == 0 || errno != EAGAIN) co_return Input::kClosed;
    if (timed_out_) co_return Input::kTimeout;
    const Result<void> ready = co_await watch_.Readable();
    if (!ready && !timed_out_) co_return Input::kClosed;
  }
  co_return Input::kClosed;
}

Task<bool> HttpConnection::Write(std::string bytes) {
  std::string_view rest = bytes;
  while (!rest.empty() && !dropped_) {
    const ssize_t sent =
        ::send(socket_.get(), rest.data(), rest.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent >= 0) {
      rest.remove_prefix(static_cast<std::size_t>(sent));
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN || timed_out_) co_return false;
    const Result<void> ready = co_await watch_.Writable();
    if (!ready) co_return false;
  }
  co_return rest.empty();
}

Task<bool> HttpConnection::Respond(const HttpResponse& response, bool head_only, bool keep_alive) {
  SetDeadline(limits_.write_timeout);
  std::string bytes = ResponseHead(response, keep_alive);
  if (!head_only && HasBody(response.status)) bytes += response.body;
  co_return co_await Write(std::move(bytes));
}

Task<void> HttpConnection::Linger() {
  ::shutdown(socket_.get(), SHUT_WR);
  SetDeadline(std::min(kLingerTime, limits_.body_timeout));
  std::size_t bytes = 0;
  while (bytes < kLingerBytesMax) {
    buffer_.clear();
    const Input input = co_await Fill();
    if (input != Input::kData) co_return;
    bytes += buffer_.size();
  }
}

HttpConnection::Step HttpConnection::Refuse(unsigned status, std::string_view code,
                                            std::string_view detail) {
  refusal_ = ProblemResponse(status, code, detail);
  return Step::kRefuse;
}

HttpConnection::Step HttpConnection::Refuse(const HttpRefusal& refusal) {
  return Refuse(refusal.status, refusal.code, refusal.detail);
}

HttpConnection::Step HttpConnection::AfterInput(Input input, std::string_view what) {
  // Silence between requests is no error; a half request is.
  if (input == Input::kClosed || idle_) return Step::kEnd;
  return Refuse(408, "request_timeout", std::string(what) + " did not arrive in time");
}

void HttpConnection::SetDeadline(std::chrono::milliseconds timeout) {
  ++deadline_generation_;
  timed_out_ = false;
  deadline_.expires_after(timeout);
  deadline_.async_wait([weak = weak_from_this(),
                        generation = deadline_generation_](const boost::system::error_code& error) {
    const std::shared_ptr<HttpConnection> self = weak.lock();
    if (error || !self || generation != self->deadline_generation_) return;
    self->timed_out_ = true;
    self->watch_.Cancel();
  });
}

void HttpConnection::ClearDeadline() {
  ++deadline_generation_;
  timed_out_ = false;
  deadline_.cancel();
}

}  // namespace rb
