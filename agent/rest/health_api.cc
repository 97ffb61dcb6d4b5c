#include "agent/rest/health_api.h"

#include <string>
#include <utility>

namespace rb::agent {
namespace {

HttpResponse Text(unsigned status, std::string body) {
  return {.status = status,
          .headers = {{"Content-Type", "text/plain; charset=utf-8"}},
          .body = std::move(body)};
}

}  // namespace

HealthApi::HealthApi(MetricsRegistry& metrics) : metrics_(metrics) {
  router_.Add("GET", "/metrics", [this](HttpRequest r) { return Metrics(std::move(r)); });
  router_.Add("GET", "/healthz", [this](HttpRequest r) { return Health(std::move(r)); });
  router_.Add("GET", "/readyz", [this](HttpRequest r) { return Ready(std::move(r)); });
}

Task<HttpResponse> HealthApi::Metrics(HttpRequest /*request*/) {
  HttpResponse response = Text(200, metrics_.Text());
  response.headers = {{"Content-Type", std::string(kMetricsContentType)}};
  co_return response;
}

Task<HttpResponse> HealthApi::Health(HttpRequest /*request*/) { co_return Text(200, "ok\n"); }

Task<HttpResponse> HealthApi::Ready(HttpRequest /*request*/) {
  co_return ready_ ? Text(200, "ok\n") : Text(503, "starting: leases are being restored\n");
}

}  // namespace rb::agent
