// What anybody may read on the metrics port: /metrics, /healthz, /readyz. Runs on: loop.
#pragma once

#include "common/runtime/http_message.h"
#include "common/runtime/metrics.h"
#include "common/runtime/router.h"
#include "common/runtime/task.h"

namespace rb::agent {

class HealthApi {
 public:
  explicit HealthApi(MetricsRegistry& metrics);

  // From now on /readyz answers 200: leases are restored and tenants are served.
  void SetReady() { ready_ = true; }

  Task<HttpResponse> Handle(HttpRequest request) { return router_.Handle(std::move(request)); }

 private:
  Task<HttpResponse> Metrics(HttpRequest request);
  Task<HttpResponse> Health(HttpRequest request);
  Task<HttpResponse> Ready(HttpRequest request);

  MetricsRegistry& metrics_;
  Router router_;
  bool ready_ = false;
};

}  // namespace rb::agent
