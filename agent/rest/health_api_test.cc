#include "agent/rest/health_api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "tests/support/run_task.h"

namespace rb::agent {
namespace {

using ::testing::HasSubstr;

class HealthApiTest : public ::testing::Test {
 protected:
  HttpResponse Send(std::string method, std::string path) {
    HttpRequest request;
    request.method = std::move(method);
    request.target = path;
    request.path = std::move(path);
    return test::RunTask(loop_, api_.Handle(std::move(request)));
  }

  Loop loop_;
  MetricsRegistry metrics_;
  HealthApi api_{metrics_};
};

TEST_F(HealthApiTest, IsHealthyFromTheStartButReadyOnlyWhenToldSo) {
  EXPECT_EQ(Send("GET", "/healthz").status, 200U);
  const HttpResponse before = Send("GET", "/readyz");
  api_.SetReady();
  const HttpResponse after = Send("GET", "/readyz");

  EXPECT_EQ(before.status, 503U);
  EXPECT_THAT(before.body, HasSubstr("leases are being restored"));
  EXPECT_EQ(after.status, 200U);
  EXPECT_EQ(after.body, "ok\n");
}

TEST_F(HealthApiTest, MetricsAreInTheTextFormat) {
  metrics_.AddCounter("things_total", "Things.").Increment({{"kind", "a"}});

  const HttpResponse response = Send("GET", "/metrics");

  EXPECT_EQ(response.status, 200U);
  EXPECT_EQ(*response.Header("content-type"), kMetricsContentType);
  EXPECT_THAT(response.body, HasSubstr("things_total{kind=\"a\"} 1\n"));
}

TEST_F(HealthApiTest, MetricsAreReadableBeforeTheAgentIsReady) {
  EXPECT_EQ(Send("GET", "/metrics").status, 200U);
}

TEST_F(HealthApiTest, ProbesMayAskWithHead) {
  EXPECT_EQ(Send("HEAD", "/healthz").status, 200U);
  EXPECT_EQ(Send("HEAD", "/readyz").status, 503U);
}

TEST_F(HealthApiTest, NothingElseIsHere) {
  for (const char* path : {"/", "/v1/node", "/v1/leases", "/metrics/", "/healthz/x"}) {
    EXPECT_EQ(Send("GET", path).status, 404U) << path;
  }
  for (const char* path : {"/metrics", "/healthz", "/readyz"}) {
    const HttpResponse response = Send("POST", path);
    EXPECT_EQ(response.status, 405U) << path;
    EXPECT_EQ(*response.Header("allow"), "GET, HEAD") << path;
  }
}

}  // namespace
}  // namespace rb::agent
