// Errors as RFC 9457 problems (declared in node.h).
#include <algorithm>
#include <array>
#include <optional>

#include "api/rest/json.h"
#include "api/rest/node.h"
#include "api/rest/reader.h"
#include "api/rest/writer.h"

namespace rb::rest {
namespace {

struct StatusRow {
  std::string_view code;  // an error's reason, or the name of its ErrorCode
  unsigned status;
  std::string_view title;
};

// The one table. A reason that stands here decides; otherwise the error's code does, so that a
// reason such as "limit_qps" keeps its code's status.
constexpr std::array kStatuses{
    StatusRow{"too_large", 413, "Content Too Large"},
    StatusRow{"unsupported_media_type", 415, "Unsupported Media Type"},
    StatusRow{"semantic", 422, "Unprocessable Content"},
    StatusRow{"precondition_required", 428, "Precondition Required"},
    StatusRow{"rate_limited", 429, "Too Many Requests"},
    StatusRow{"compacted", 410, "Gone"},
    StatusRow{"invalid", 400, "Bad Request"},
    StatusRow{"unauthorized", 401, "Unauthorized"},
    StatusRow{"denied", 403, "Forbidden"},
    StatusRow{"not_found", 404, "Not Found"},
    StatusRow{"conflict", 409, "Conflict"},
    StatusRow{"exhausted", 409, "Conflict"},
    StatusRow{"stale", 412, "Precondition Failed"},
    StatusRow{"unsupported", 422, "Unprocessable Content"},
    StatusRow{"unavailable", 503, "Service Unavailable"},
    StatusRow{"timeout", 504, "Gateway Timeout"},
    StatusRow{"corrupt", 500, "Internal Server Error"},
    StatusRow{"internal", 500, "Internal Server Error"},
};

const StatusRow* FindStatus(std::string_view code) {
  const auto* row = std::ranges::find(kStatuses, code, &StatusRow::code);
  return row == kStatuses.end() ? nullptr : row;
}

// A message of a parser starts with the pointer of the field: "/spec/tenant: …", or "body: …".
std::optional<Problem::Pointer> PointerOf(const Error& error) {
  const std::size_t colon = error.message.find(": ");
  if (error.code != ErrorCode::kInvalid || colon == std::string::npos) return std::nullopt;
  const std::string pointer = error.message.substr(0, colon);
  if (pointer != "body" && !pointer.starts_with('/')) return std::nullopt;
  return Problem::Pointer{.pointer = pointer == "body" ? "" : pointer,
                          .detail = error.message.substr(colon + 2)};
}

struct PointerFields {
  template <class Io, class T>
  void operator()(Io& io, T& pointer) const {
    io.Text("pointer", pointer.pointer);
    io.Text("detail", pointer.detail);
  }
};

struct ProblemFields {
  template <class Io, class T>
  void operator()(Io& io, T& problem) const {
    // RFC 9457: "about:blank" says that `title` and `code` are all there is to know of the type.
    std::string type = "about:blank";
    io.Text("type", type);
    io.Text("title", problem.title);
    io.Required("status");
    io.Integer("status", problem.status, {.min = 100, .max = 599});
    io.Required("code");
    io.Text("code", problem.code);
    io.OptionalText("detail", problem.detail);
    io.OptionalText("request_id", problem.request_id);
    io.List("errors", problem.errors, 1024, PointerFields{});
  }
};

}  // namespace

Problem ToProblem(const Error& error, std::string request_id) {
  const StatusRow* row = FindStatus(error.reason);
  if (row == nullptr) row = FindStatus(Name(error.code));
  RB_CHECK(row != nullptr);
  Problem problem{.status = row->status,
                  .code = error.reason.empty() ? std::string(Name(error.code)) : error.reason,
                  .title = std::string(row->title),
                  .detail = error.message,
                  .request_id = std::move(request_id),
                  .errors = {}};
  if (auto pointer = PointerOf(error)) problem.errors.push_back(*std::move(pointer));
  return problem;
}

std::string DumpProblem(const Problem& problem) { return internal::Dump(problem, ProblemFields{}); }

Result<Problem> ParseProblem(std::string_view json) {
  return internal::Read<Problem>(json, ProblemFields{}, internal::kRequestBytesMax);
}

}  // namespace rb::rest
