#include "common/runtime/router.h"

#include <gtest/gtest.h>

#include "tests/support/run_task.h"

namespace rb {
namespace {

// Answers with its name and the parameters it got.
HttpHandler Named(std::string name) {
  return [name](HttpRequest request) -> Task<HttpResponse> {
    HttpResponse response;
    response.body = name;
    for (const auto& [param, value] : request.params) response.body += " " + param + "=" + value;
    co_return response;
  };
}

Router MakeRouter() {
  Router router;
  router.Add("GET", "/v1/leases", Named("list"));
  router.Add("POST", "/v1/leases", Named("create"));
  router.Add("GET", "/v1/leases/{id}", Named("get"));
  router.Add("DELETE", "/v1/leases/{id}", Named("revoke"));
  router.Add("POST", "/v1/leases/{id}/drain", Named("drain"));
  router.Add("GET", "/v1/nodes/{node}/devices/{device}", Named("device"));
  router.Add("GET", "/", Named("root"));
  return router;
}

HttpResponse Ask(const Router& router, std::string method, std::string path) {
  Loop loop;
  HttpRequest request;
  request.method = std::move(method);
  request.path = std::move(path);
  return test::RunTask(loop, router.Handle(std::move(request)));
}

TEST(RouterTest, ChoosesByMethodAndPath) {
  const Router router = MakeRouter();

  EXPECT_EQ(Ask(router, "GET", "/v1/leases").body, "list");
  EXPECT_EQ(Ask(router, "POST", "/v1/leases").body, "create");
  EXPECT_EQ(Ask(router, "GET", "/").body, "root");
}

TEST(RouterTest, GivesDecodedParameters) {
  const Router router = MakeRouter();

  EXPECT_EQ(Ask(router, "GET", "/v1/leases/a%2Fb%20c").body, "get id=a/b c");
  EXPECT_EQ(Ask(router, "GET", "/v1/nodes/n1/devices/mlx5_0").body, "device node=n1 device=mlx5_0");
}

TEST(RouterTest, AnEncodedSlashStaysInsideItsSegment) {
  EXPECT_EQ(Ask(MakeRouter(), "POST", "/v1/leases/a%2Fdrain").status, 405U);
}

TEST(RouterTest, APlusInAPathIsAPlus) {
  EXPECT_EQ(Ask(MakeRouter(), "GET", "/v1/leases/a+b").body, "get id=a+b");
}

TEST(RouterTest, UnknownPathsAreNotFound) {
  const Router router = MakeRouter();

  for (const auto* path :
       {"/v2", "/v1", "/v1/leases/", "/v1/leases/a/", "/v1/leases/a/b/c", "", "x"}) {
    const HttpResponse response = Ask(router, "GET", path);
    EXPECT_EQ(response.status, 404U) << path;
    EXPECT_NE(response.body.find("\"code\":\"not_found\""), std::string::npos);
  }
}

TEST(RouterTest, AWrongMethodSaysWhichAreAllowed) {
  const HttpResponse response = Ask(MakeRouter(), "PUT", "/v1/leases/a");

  EXPECT_EQ(response.status, 405U);
  EXPECT_EQ(*response.Header("allow"), "DELETE, GET, HEAD");
}

TEST(RouterTest, HeadFallsToGet) {
  const Router router = MakeRouter();

  EXPECT_EQ(Ask(router, "HEAD", "/v1/leases").body, "list");
  EXPECT_EQ(Ask(router, "HEAD", "/v1/leases/a/drain").status, 405U);
}

TEST(RouterTest, AHeadRouteOfItsOwnWins) {
  Router router;
  router.Add("GET", "/x", Named("get"));
  router.Add("HEAD", "/x", Named("head"));

  EXPECT_EQ(Ask(router, "HEAD", "/x").body, "head");
  EXPECT_EQ(Ask(router, "GET", "/x").body, "get");
}

TEST(RouterTest, ALiteralSegmentWinsWhateverTheOrder) {
  Router router;
  router.Add("GET", "/v1/{kind}/self", Named("param"));
  router.Add("GET", "/v1/leases/{id}", Named("literal"));
  router.Add("GET", "/v1/leases/self", Named("both"));

  EXPECT_EQ(Ask(router, "GET", "/v1/leases/self").body, "both");
  EXPECT_EQ(Ask(router, "GET", "/v1/leases/x").body, "literal id=x");
  EXPECT_EQ(Ask(router, "GET", "/v1/nodes/self").body, "param kind=nodes");
}

TEST(RouterTest, ABrokenEscapeIsABadRequest) {
  const Router router = MakeRouter();

  EXPECT_EQ(Ask(router, "GET", "/v1/leases/%zz").status, 400U);
  EXPECT_EQ(Ask(router, "GET", "/v1/leases/%00").status, 400U);
}

TEST(RouterTest, FindNamesThePattern) {
  const Router router = MakeRouter();

  EXPECT_EQ(router.Find("GET", "/v1/leases/abc").pattern, "/v1/leases/{id}");
  EXPECT_EQ(router.Find("GET", "/nothing").pattern, "");
}

TEST(RouterDeathTest, RegisteringTwiceIsABug) {
  Router router;
  router.Add("GET", "/x", Named("a"));

  EXPECT_DEATH(router.Add("GET", "/x", Named("b")), "check failed");
  EXPECT_DEATH(router.Add("GET", "x", Named("b")), "check failed");
}

}  // namespace
}  // namespace rb
