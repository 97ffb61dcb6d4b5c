#include "common/runtime/http_parser.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cctype>
#include <limits>
#include <utility>

namespace rb {
namespace {

namespace http = boost::beast::http;

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

template <class Fields>
HttpFields CopyFields(const Fields& fields) {
  HttpFields copy;
  for (const auto& field : fields) {
    const auto name = field.name_string();
    const auto value = field.value();
    copy.emplace_back(LowerCase({name.data(), name.size()}),
                      std::string(value.data(), value.size()));
  }
  return copy;
}

HttpRefusal BadRequest(std::string detail) {
  return {.status = 400, .code = "bad_request", .detail = std::move(detail)};
}

HttpRefusal RefusalOf(const boost::system::error_code& error) {
  if (error == http::error::body_limit) {
    return {.status = 413, .code = "body_too_large", .detail = "the body is larger than allowed"};
  }
  return BadRequest(error.message());
}

std::size_t CountOf(const HttpFields& headers, std::string_view name) {
  return static_cast<std::size_t>(
      std::ranges::count_if(headers, [&](const auto& field) { return field.first == name; }));
}

// What Beast lets pass although two parsers could read it differently (RFC 9112, 6.1 and 6.3).
std::optional<HttpRefusal> RefuseAmbiguousFraming(const HttpRequest& request, unsigned version) {
  const std::string* length = request.Header("content-length");
  const std::string* coding = request.Header("transfer-encoding");
  if (length != nullptr && coding != nullptr) {
    return BadRequest("both Content-Length and Transfer-Encoding");
  }
  if (CountOf(request.headers, "content-length") > 1 ||
      (length != nullptr && length->find(',') != std::string::npos)) {
    return BadRequest("more than one Content-Length");
  }
  if (coding == nullptr) return std::nullopt;
  if (version < 11) return BadRequest("Transfer-Encoding in HTTP/1.0");
  if (CountOf(request.headers, "transfer-encoding") > 1 || LowerCase(*coding) != "chunked") {
    return HttpRefusal{.status = 501,
                       .code = "not_implemented",
                       .detail = "the only transfer coding here is chunked"};
  }
  return std::nullopt;
}

std::optional<HttpRefusal> RefuseHost(const HttpRequest& request, unsigned version) {
  const std::size_t hosts = CountOf(request.headers, "host");
  if (hosts > 1) return BadRequest("more than one Host");
  if (hosts == 0 && version >= 11) return BadRequest("no Host");
  return std::nullopt;
}

std::optional<HttpRefusal> RefuseExpectation(const HttpRequest& request) {
  const std::string* expect = request.Header("expect");
  if (expect == nullptr || LowerCase(*expect) == "100-continue") return std::nullopt;
  return HttpRefusal{.status = 417,
                     .code = "expectation_failed",
                     .detail = "the only expectation here is 100-continue"};
}

}  // namespace

struct HttpRequestParser::State {
  http::request_parser<http::string_body> parser;
  HttpRequest request;  // copied after the head: trailers must not add to it
  unsigned version = 11;
  bool keep_alive = false;
};

HttpRequestParser::HttpRequestParser(std::size_t body_bytes_max)
    : state_(std::make_unique<State>()) {
  state_->parser.body_limit(body_bytes_max);
  // The caller bounds the head before it comes here.
  state_->parser.header_limit(std::numeric_limits<std::uint32_t>::max());
}

HttpRequestParser::~HttpRequestParser() = default;

std::optional<HttpRefusal> HttpRequestParser::ParseHead(std::string_view head) {
  boost::system::error_code error;
  auto& parser = state_->parser;
  parser.put(boost::asio::buffer(head), error);
  const auto& message = parser.get();
  HttpRequest& request = state_->request;
  request.headers = CopyFields(message);
  state_->version = message.version();
  // Framing first, also when Beast refused something else: the more telling answer wins.
  if (auto refusal = RefuseAmbiguousFraming(request, state_->version)) return refusal;
  if (error) return RefusalOf(error);
  if (!parser.is_header_done()) return BadRequest("the headers are not complete");
  if (auto refusal = RefuseHost(request, state_->version)) return refusal;
  if (auto refusal = RefuseExpectation(request)) return refusal;

  request.method = std::string(message.method_string().data(), message.method_string().size());
  request.target = std::string(message.target().data(), message.target().size());
  auto target = ParseTarget(request.target);
  if (!target) return BadRequest("the target is not a clean absolute path");
  request.path = std::move(target->path);
  request.query = std::move(target->query);
  state_->keep_alive = message.keep_alive();
  parser.eager(true);
  return std::nullopt;
}

std::optional<HttpRefusal> HttpRequestParser::ParseBody(std::string_view data, std::size_t* used) {
  *used = 0;
  if (data.empty() || done()) return std::nullopt;
  boost::system::error_code error;
  *used = state_->parser.put(boost::asio::buffer(data), error);
  if (error && error != http::error::need_more) return RefusalOf(error);
  return std::nullopt;
}

bool HttpRequestParser::done() const { return state_->parser.is_done(); }

bool HttpRequestParser::expects_continue() const {
  return state_->version >= 11 && state_->request.Header("expect") != nullptr;
}

bool HttpRequestParser::keep_alive() const { return state_->keep_alive; }

HttpRequest HttpRequestParser::Take() {
  state_->request.body = std::move(state_->parser.get().body());
  return std::move(state_->request);
}

struct HttpResponseParser::State {
  using Parser = http::response_parser<http::string_body>;

  State(std::size_t limit, bool no_body) : bytes_max(limit), head_only(no_body) { Restart(); }

  void Restart() {
    parser = std::make_unique<Parser>();
    parser->eager(true);
    parser->skip(head_only);
    parser->body_limit(bytes_max);
    parser->header_limit(
        static_cast<std::uint32_t>(std::min<std::size_t>(bytes_max, std::size_t{1} << 20)));
  }

  std::size_t bytes_max;
  bool head_only;
  std::unique_ptr<Parser> parser;  // never null: a parser reads one message and cannot be reset
};

HttpResponseParser::HttpResponseParser(std::size_t bytes_max, bool head_only)
    : state_(std::make_unique<State>(bytes_max, head_only)) {}

HttpResponseParser::~HttpResponseParser() = default;

Result<std::size_t> HttpResponseParser::Parse(std::string_view data) {
  std::size_t used = 0;
  while (used < data.size() && !done()) {
    boost::system::error_code error;
    used += state_->parser->put(boost::asio::buffer(data.substr(used)), error);
    if (error == http::error::need_more) break;
    if (error == http::error::body_limit || error == http::error::header_limit) {
      return Fail(ErrorCode::kExhausted,
                  "read response: larger than " + std::to_string(state_->bytes_max) + " bytes");
    }
    if (error) return Fail(ErrorCode::kCorrupt, "read response: " + error.message());
    if (done() && state_->parser->get().result_int() / 100 == 1) state_->Restart();
  }
  return used;
}

Result<void> HttpResponseParser::ParseEnd() {
  boost::system::error_code error;
  if (state_->parser->got_some()) state_->parser->put_eof(error);
  if (error || !done()) {
    return Fail(ErrorCode::kCorrupt, "read response: the connection closed in the middle");
  }
  return {};
}

bool HttpResponseParser::done() const { return state_->parser->is_done(); }

HttpResponse HttpResponseParser::Take() {
  auto& message = state_->parser->get();
  HttpResponse response;
  response.status = message.result_int();
  response.headers = CopyFields(message);
  response.body = std::move(message.body());
  return response;
}

}  // namespace rb
