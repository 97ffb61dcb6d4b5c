// Parses one HTTP/1.1 message from bytes: a request for the server, a response for the client.
//
// A thin, strict wrapper of Beast's parser and the only file that includes Beast. It does no I/O
// and knows no timeouts; the head must have passed HeadScanner first (requests). Errors are values,
// never exceptions. Threading: thread-compatible.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/result.h"
#include "common/runtime/http_message.h"

namespace rb {

// Why a request is refused, as it is answered.
struct HttpRefusal {
  unsigned status = 400;
  std::string code;
  std::string detail;
};

class HttpRequestParser {
 public:
  explicit HttpRequestParser(std::size_t body_bytes_max);
  ~HttpRequestParser();
  HttpRequestParser(const HttpRequestParser&) = delete;
  HttpRequestParser& operator=(const HttpRequestParser&) = delete;

  // `head` is the whole head with its empty line. Nullopt: accepted.
  std::optional<HttpRefusal> ParseHead(std::string_view head);

  // Takes body bytes from the front of `data`, sets `*used`. REQUIRES: ParseHead() accepted.
  std::optional<HttpRefusal> ParseBody(std::string_view data, std::size_t* used);

  // The head is parsed and the body is complete.
  bool done() const;
  // The client waits for "100 Continue" before it sends the body.
  bool expects_continue() const;
  // The client lets the connection stay open afterwards.
  bool keep_alive() const;

  // The request without peer and params. Trailers are not part of it. REQUIRES: done().
  HttpRequest Take();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

class HttpResponseParser {
 public:
  // `head_only`: the answer to HEAD, which has no body whatever its headers say.
  HttpResponseParser(std::size_t bytes_max, bool head_only);
  ~HttpResponseParser();
  HttpResponseParser(const HttpResponseParser&) = delete;
  HttpResponseParser& operator=(const HttpResponseParser&) = delete;

  // Returns how many bytes it took; the rest must come again with more behind it. Interim (1xx)
  // answers are skipped. Errors: kCorrupt, kExhausted (larger than bytes_max).
  Result<std::size_t> Parse(std::string_view data);

  // The peer closed. Errors: kCorrupt, in the middle of the message.
  Result<void> ParseEnd();

  bool done() const;
  // REQUIRES: done(). Header names are in lower case.
  HttpResponse Take();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace rb
