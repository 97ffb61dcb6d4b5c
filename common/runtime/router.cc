#include "common/runtime/router.h"

#include <algorithm>
#include <set>
#include <utility>

#include "common/base/result.h"

namespace rb {
namespace {

std::vector<std::string> SplitPath(std::string_view path) {
  std::vector<std::string> segments;
  while (!path.empty()) {
    path.remove_prefix(1);  // the slash
    const std::size_t end = std::min(path.find('/'), path.size());
    segments.emplace_back(path.substr(0, end));
    path.remove_prefix(end);
  }
  return segments;
}

bool IsParam(std::string_view segment) { return segment.size() > 2 && segment.front() == '{'; }

bool Matches(const std::vector<std::string>& pattern, const std::vector<std::string>& path) {
  return std::ranges::equal(pattern, path, [](const std::string& want, const std::string& got) {
    return IsParam(want) ? !got.empty() : want == got;
  });
}

// Literal segments win over parameters, the leftmost difference decides.
bool MoreSpecific(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  return std::ranges::lexicographical_compare(
      a, b, [](const std::string& x, const std::string& y) { return !IsParam(x) && IsParam(y); });
}

void SetParams(RouteMatch* match, const std::vector<std::string>& pattern,
               const std::vector<std::string>& path) {
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (!IsParam(pattern[i])) continue;
    auto value = PercentDecode(path[i], false);
    if (!value) {
      match->malformed = true;
      return;
    }
    match->params.emplace_back(pattern[i].substr(1, pattern[i].size() - 2), std::move(*value));
  }
}

std::string Join(const std::set<std::string>& methods) {
  std::string text;
  for (const std::string& method : methods) text += (text.empty() ? "" : ", ") + method;
  return text;
}

Task<HttpResponse> Answer(HttpResponse response) { co_return response; }

}  // namespace

void Router::Add(std::string_view method, std::string_view pattern, HttpHandler handler) {
  RB_CHECK(pattern.starts_with('/'));
  for (const Route& route : routes_) RB_CHECK(route.method != method || route.pattern != pattern);
  routes_.push_back(Route{.method = std::string(method),
                          .pattern = std::string(pattern),
                          .segments = SplitPath(pattern),
                          .handler = std::move(handler)});
}

RouteMatch Router::Find(std::string_view method, std::string_view path) const {
  RouteMatch match;
  if (!path.starts_with('/')) return match;
  const std::vector<std::string> segments = SplitPath(path);
  const std::string_view wanted = method == "HEAD" ? "GET" : method;
  const Route* best = nullptr;
  std::set<std::string> allowed;
  for (const Route& route : routes_) {
    if (!Matches(route.segments, segments)) continue;
    allowed.insert(route.method);
    // A HEAD route of its own wins over the fall to GET.
    if (route.method != method && route.method != wanted) continue;
    const bool better = best == nullptr || MoreSpecific(route.segments, best->segments) ||
                        (route.segments == best->segments && route.method == method);
    if (better) best = &route;
  }
  if (best == nullptr) {
    if (allowed.contains("GET")) allowed.insert("HEAD");
    match.allow = Join(allowed);
    return match;
  }
  match.handler = &best->handler;
  match.pattern = best->pattern;
  SetParams(&match, best->segments, segments);
  return match;
}

Task<HttpResponse> Router::Handle(HttpRequest request) const {
  RouteMatch match = Find(request.method, request.path);
  if (match.malformed) {
    return Answer(ProblemResponse(400, "bad_request", "a broken escape in the path"));
  }
  if (match.handler != nullptr) {
    request.params = std::move(match.params);
    return (*match.handler)(std::move(request));
  }
  if (match.allow.empty()) {
    return Answer(ProblemResponse(404, "not_found", "no such path: " + request.path));
  }
  HttpResponse response = ProblemResponse(405, "method_not_allowed",
                                          request.method + " is not possible here: " + match.allow);
  response.headers.emplace_back("Allow", match.allow);
  return Answer(std::move(response));
}

}  // namespace rb
