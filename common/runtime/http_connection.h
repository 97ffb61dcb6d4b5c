// One HTTP/1.1 connection of HttpServer: reads requests, calls the handler, writes responses.
//
// It owns the socket and its deadlines. Accepting and counting connections is http_server.cc's
// business, parsing http_parser.h's.
//
// Runs on: loop. Lifetime: Serve() keeps the object alive until the connection has ended.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "common/bare/unique_fd.h"
#include "common/runtime/fd_watch.h"
#include "common/runtime/http_message.h"
#include "common/runtime/http_parser.h"
#include "common/runtime/http_server.h"
#include "common/runtime/loop.h"
#include "common/runtime/task.h"

namespace rb {

class HttpConnection : public std::enable_shared_from_this<HttpConnection> {
 public:
  // `handler` and `limits` are borrowed from the server's shared state. `socket` is non-blocking.
  HttpConnection(Loop& loop, UniqueFd socket, const HttpHandler& handler, const HttpLimits& limits);

  // Resumes when the connection is over and the socket is closed.
  static Task<void> Serve(std::shared_ptr<HttpConnection> self);

  // Ends after the request in flight; at once when none is.
  void Drain();

  // Ends now. A running handler finishes into nothing.
  void Drop();

 private:
  enum class Input { kData, kClosed, kTimeout };
  // What to do after reading a part of a request.
  enum class Step { kGo, kRefuse, kEnd };

  Task<bool> ServeOne();
  Task<Step> ReadHead(HttpRequestParser& parser);
  Task<Step> ReadBody(HttpRequestParser& parser);
  Task<HttpResponse> RunHandler(HttpRequest request);
  Task<Input> Fill();
  Task<bool> Write(std::string bytes);
  Task<bool> Respond(const HttpResponse& response, bool head_only, bool keep_alive);
  Task<void> Linger();

  Step Refuse(unsigned status, std::string_view code, std::string_view detail);
  Step Refuse(const HttpRefusal& refusal);
  Step AfterInput(Input input, std::string_view what);
  void SetDeadline(std::chrono::milliseconds timeout);
  void ClearDeadline();

  const HttpHandler& handler_;
  const HttpLimits& limits_;
  UniqueFd socket_;
  FdWatch watch_;
  boost::asio::steady_timer deadline_;
  std::uint64_t deadline_generation_ = 0;
  bool timed_out_ = false;
  bool idle_ = true;       // no byte of the next request has arrived
  bool draining_ = false;  // close after the response
  bool dropped_ = false;
  std::string buffer_;  // received and not yet parsed: pipelined requests wait here
  std::optional<HttpResponse> refusal_;
  Peer peer_;
};

// The start line and headers of a response, for tests of the framing too. Content-Length is the
// body's.
std::string ResponseHead(const HttpResponse& response, bool keep_alive);

}  // namespace rb
