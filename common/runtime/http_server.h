// HTTP/1.1 server on a listening TCP or Unix stream socket: the REST API and the metrics endpoint.
//
// It reads requests, enforces limits and refuses ambiguous framing; what a path means is the
// handler's business (router.h). No TLS here.
//
// What a client gets when it misbehaves (problem+json, connection closed):
//   400 bad_request        malformed, both Content-Length and Transfer-Encoding, two
//   Content-Lengths,
//                          folded headers, bare line feeds, no Host
//   408 request_timeout    the request is not complete in time
//   413 body_too_large     417 expectation_failed     431 headers_too_large
//   501 not_implemented    a transfer coding other than chunked
//   503 overloaded         more than connections_max connections
//   500 internal           the handler threw (logged; a bug)
// Pipelined requests are answered in order, one at a time. HEAD runs the handler and sends no body.
// An answer whose client does not read it is dropped after write_timeout.
//
// Runs on: loop. Streamed responses would add a body producer to HttpResponse; the writer is one
// place.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>

#include "common/bare/unique_fd.h"
#include "common/runtime/http_message.h"
#include "common/runtime/loop.h"
#include "common/runtime/task.h"

namespace rb {

// Called once per request. The function object lives as long as any connection, so it may be a
// capturing coroutine lambda; what it borrows must outlive the loop's last turn.
using HttpHandler = std::function<Task<HttpResponse>(HttpRequest)>;

struct HttpLimits {
  std::size_t body_bytes_max = std::size_t{1} << 20;
  std::size_t header_bytes_max = std::size_t{16} << 10;  // start line and headers together
  std::size_t connections_max = 256;
  std::chrono::milliseconds header_timeout{
      10'000};                                      // from the first byte to the end of the headers
  std::chrono::milliseconds body_timeout{30'000};   // from then to the end of the body
  std::chrono::milliseconds idle_timeout{60'000};   // between requests
  std::chrono::milliseconds write_timeout{30'000};  // for one response
  std::chrono::milliseconds drain_timeout{5'000};   // Stop(): for requests in flight
};

class HttpServer {
 public:
  HttpServer(Loop& loop, UniqueFd listener, HttpHandler handler, HttpLimits limits = {});
  // Drops connections that are still open.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Begins to accept.
  void Start();

  // Stops accepting, closes idle connections, lets requests in flight finish for up to
  // drain_timeout, then drops them. Resumes when no connection is left.
  [[nodiscard]] Task<void> Stop();

  // Open connections, for metrics and tests.
  std::size_t connections() const;

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;  // shared with the connections' tasks, which end after this object
};

}  // namespace rb
