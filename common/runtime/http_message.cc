#include "common/runtime/http_message.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "common/runtime/json_text.h"

namespace rb {
namespace {

const std::string* FirstOf(const HttpFields& fields, std::string_view name) {
  const auto found = std::ranges::find_if(fields, [&](const auto& f) { return f.first == name; });
  return found == fields.end() ? nullptr : &found->second;
}

bool EqualIgnoringCase(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool IsUnreserved(unsigned char c) {
  return std::isalnum(c) != 0 || c == '-' || c == '.' || c == '_' || c == '~';
}

std::optional<HttpFields> ParseQuery(std::string_view text) {
  HttpFields query;
  while (!text.empty()) {
    const std::string_view pair = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(text.size(), pair.size() + 1));
    if (pair.empty()) continue;
    const std::size_t equals = std::min(pair.find('='), pair.size());
    auto name = PercentDecode(pair.substr(0, equals), true);
    auto value = PercentDecode(pair.substr(std::min(pair.size(), equals + 1)), true);
    if (!name || !value) return std::nullopt;
    query.emplace_back(std::move(*name), std::move(*value));
  }
  return query;
}

}  // namespace

const std::string* HttpRequest::Header(std::string_view name) const {
  return FirstOf(headers, name);
}

const std::string* HttpRequest::Query(std::string_view name) const { return FirstOf(query, name); }

const std::string* HttpRequest::Param(std::string_view name) const { return FirstOf(params, name); }

const std::string* HttpResponse::Header(std::string_view name) const {
  for (const auto& [field, value] : headers) {
    if (EqualIgnoringCase(field, name)) return &value;
  }
  return nullptr;
}

std::string_view StatusTitle(unsigned status) {
  struct Row {
    unsigned status;
    std::string_view title;
  };
  static constexpr std::array<Row, 30> kRows{{{200, "OK"},
                                              {201, "Created"},
                                              {202, "Accepted"},
                                              {204, "No Content"},
                                              {304, "Not Modified"},
                                              {400, "Bad Request"},
                                              {401, "Unauthorized"},
                                              {403, "Forbidden"},
                                              {404, "Not Found"},
                                              {405, "Method Not Allowed"},
                                              {406, "Not Acceptable"},
                                              {408, "Request Timeout"},
                                              {409, "Conflict"},
                                              {410, "Gone"},
                                              {411, "Length Required"},
                                              {412, "Precondition Failed"},
                                              {413, "Content Too Large"},
                                              {415, "Unsupported Media Type"},
                                              {417, "Expectation Failed"},
                                              {422, "Unprocessable Content"},
                                              {423, "Locked"},
                                              {428, "Precondition Required"},
                                              {429, "Too Many Requests"},
                                              {431, "Request Header Fields Too Large"},
                                              {500, "Internal Server Error"},
                                              {501, "Not Implemented"},
                                              {502, "Bad Gateway"},
                                              {503, "Service Unavailable"},
                                              {504, "Gateway Timeout"},
                                              {507, "Insufficient Storage"}}};
  const auto* const found =
      std::ranges::find_if(kRows, [&](const Row& r) { return r.status == status; });
  return found == kRows.end() ? "Unknown" : found->title;
}

HttpResponse ProblemResponse(unsigned status, std::string_view code, std::string_view detail) {
  HttpResponse response;
  response.status = status;
  response.headers.emplace_back("Content-Type", "application/problem+json");
  response.body = R"({"type":"about:blank","title":)" + QuoteJson(StatusTitle(status)) +
                  R"(,"status":)" + std::to_string(status) + R"(,"code":)" + QuoteJson(code);
  if (!detail.empty()) response.body += R"(,"detail":)" + QuoteJson(detail);
  response.body += "}\n";
  return response;
}

std::optional<std::string> PercentDecode(std::string_view text, bool plus_is_space) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      if (i + 2 >= text.size()) return std::nullopt;
      const int high = HexValue(text[i + 1]);
      const int low = HexValue(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      c = static_cast<char>((high * 16) + low);
      i += 2;
    } else if (c == '+' && plus_is_space) {
      c = ' ';
    }
    if (c == '\0') return std::nullopt;
    out += c;
  }
  return out;
}

std::string PercentEncode(std::string_view text) {
  static constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (IsUnreserved(byte)) {
      out += c;
    } else {
      out += '%';
      out += kDigits[byte >> 4];
      out += kDigits[byte & 0xF];
    }
  }
  return out;
}

std::optional<HttpTarget> ParseTarget(std::string_view target) {
  if (target.empty() || target.front() != '/') return std::nullopt;
  // A fragment is never sent; a control character or a space would reach logs and patterns.
  for (const char c : target) {
    if (static_cast<unsigned char>(c) <= 0x20 || c == 0x7f || c == '#') return std::nullopt;
  }
  const std::size_t mark = std::min(target.find('?'), target.size());
  auto query = ParseQuery(target.substr(std::min(target.size(), mark + 1)));
  if (!query) return std::nullopt;
  return HttpTarget{.path = std::string(target.substr(0, mark)), .query = std::move(*query)};
}

}  // namespace rb
