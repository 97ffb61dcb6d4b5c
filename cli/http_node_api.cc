#include "cli/http_node_api.h"

#include "api/rest/node.h"
#include "common/runtime/http_client.h"

namespace rb::cli {
namespace {

// The way back from a status to the code that ExitCodeOf() knows.
ErrorCode CodeOf(unsigned status) {
  switch (status) {
    case 400:
    case 413:
    case 415:
    case 422:
      return ErrorCode::kInvalid;
    case 401:
      return ErrorCode::kUnauthorized;
    case 403:
      return ErrorCode::kDenied;
    case 404:
    case 410:
      return ErrorCode::kNotFound;
    case 409:
      return ErrorCode::kConflict;
    case 412:
    case 428:
      return ErrorCode::kStale;
    case 429:
    case 503:
      return ErrorCode::kUnavailable;
    case 504:
      return ErrorCode::kTimeout;
    default:
      return ErrorCode::kInternal;
  }
}

// Says what to do about a call that got no answer.
Error Explain(Error error, const std::string& socket_path) {
  if (error.code == ErrorCode::kUnavailable) {
    error.message = "no agent answers at " + socket_path +
                    ": start it (systemctl start rdma-agent), or name its admin socket with --node";
    error.reason = "no_agent";
  } else if (error.code == ErrorCode::kDenied) {
    error.message = "may not use " + socket_path + ": the admin socket is root's; run as root";
    error.reason = "admin_socket";
  }
  return error;
}

}  // namespace

Result<ApiAnswer> ReadAnswer(const HttpResponse& response) {
  if (response.status >= 200 && response.status < 300) {
    const std::string* etag = response.Header("etag");
    return ApiAnswer{.body = response.body, .etag = etag == nullptr ? "" : *etag};
  }
  const ErrorCode code = CodeOf(response.status);
  const auto problem = rest::ParseProblem(response.body);
  if (!problem) {
    return Fail(code, "the agent answered " + std::to_string(response.status) + " " +
                          std::string(StatusTitle(response.status)));
  }
  std::string message = problem->detail.empty() ? problem->title : problem->detail;
  if (!problem->code.empty()) message += " (" + problem->code + ")";
  return Fail(code, std::move(message), problem->code);
}

Result<ApiAnswer> HttpNodeApi::Call(const ApiRequest& request) {
  HttpRequest http;
  http.method = request.method;
  http.target = request.target;
  http.body = request.body;
  http.headers = {{"accept", "application/json"}};
  if (!request.content_type.empty())
    http.headers.emplace_back("content-type", request.content_type);
  if (!request.if_match.empty()) http.headers.emplace_back("if-match", request.if_match);
  const HttpEndpoint endpoint{.unix_path = socket_path_, .host = "", .port = 0};
  const auto response = CallHttp(endpoint, http, request.deadline);
  if (!response) return tl::unexpected<Error>(Explain(response.error(), socket_path_));
  return ReadAnswer(*response);
}

}  // namespace rb::cli
