// Every route of the node's REST API over real leases and a fake kernel.
#include "agent/rest/node_api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/rest/lease.h"
#include "api/rest/node.h"
#include "common/runtime/http_client.h"
#include "common/runtime/unix_listener.h"
#include "tests/support/agent_process.h"

namespace rb::agent {
namespace {

using test::RunTask;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr const char* kLease = R"({"metadata": {"labels": {"job": "llm-7"}},
  "spec": {"tenant": "alice", "limits": {"qps": 2}, "traffic_class": "storage"}})";

class NodeApiTest : public ::testing::Test {
 protected:
  HttpResponse Send(std::string method, const std::string& target, std::string body = {},
                    HttpFields headers = {}) {
    const auto parsed = ParseTarget(target);
    RB_CHECK(parsed.has_value());
    HttpRequest request;
    request.method = std::move(method);
    request.target = target;
    request.path = parsed->path;
    request.query = parsed->query;
    request.headers = std::move(headers);
    request.body = std::move(body);
    return RunTask(node_.core.loop, api_.Handle(std::move(request)));
  }

  HttpResponse Get(const std::string& target) { return Send("GET", target); }

  HttpResponse Post(const std::string& target, std::string body = {}) {
    return Send("POST", target, std::move(body), {{"content-type", "application/json"}});
  }

  HttpResponse Patch(const std::string& id, std::string body, const std::string& if_match = "*") {
    return Send("PATCH", "/v1/leases/" + id, std::move(body),
                {{"content-type", "application/merge-patch+json"}, {"if-match", if_match}});
  }

  rest::Lease Create(const std::string& body = kLease) {
    const HttpResponse response = Post("/v1/leases", body);
    EXPECT_EQ(response.status, 201U) << response.body;
    return rest::ParseLease(response.body).value();
  }

  std::string LeasesNow() { return Get("/v1/leases").body; }

  static std::string Code(const HttpResponse& response) {
    const std::string* type = response.Header("content-type");
    EXPECT_TRUE(type != nullptr && *type == rest::kProblemContentType) << response.body;
    const auto problem = rest::ParseProblem(response.body);
    EXPECT_TRUE(problem) << response.body;
    if (!problem) return response.body;
    EXPECT_EQ(problem->status, response.status);
    EXPECT_FALSE(problem->title.empty());
    return std::to_string(response.status) + " " + problem->code;
  }

  test::AgentWithProcess node_;
  NodeApi api_{{.pool = node_.core.pool,
                .resources = node_.kernel.resources,
                .clock = node_.machine.clock,
                .node = node_.core.node,
                .leases = node_.core.leases,
                .events = node_.core.events,
                .attachments = node_.core.attachments,
                .service = node_.core.service,
                .requests = node_.core.metrics.AddCounter("requests_total", "Requests."),
                .host = {.version = "1.2.3", .boot_id = "boot-1", .kernel_release = "6.1.0"}}};
};

// --- What the node is ---

TEST_F(NodeApiTest, TheNodeSaysWhatItIsAndHolds) {
  Create();
  node_.machine.clock.Advance(std::chrono::seconds(90));

  const HttpResponse response = Get("/v1/node");

  ASSERT_EQ(response.status, 200U);
  EXPECT_EQ(*response.Header("content-type"), "application/json");
  const auto node = rest::ParseNode(response.body);
  ASSERT_TRUE(node) << node.error().message;
  EXPECT_EQ(node->name, "node-a");
  EXPECT_EQ(node->version, "1.2.3");
  EXPECT_EQ(node->boot_id, "boot-1");
  EXPECT_EQ(node->kernel, "6.1.0");
  EXPECT_EQ(node->device_count, 2U);
  EXPECT_EQ(node->active_leases, 1U);
  EXPECT_EQ(node->uptime_seconds, 90U);
}

TEST_F(NodeApiTest, DevicesComeWithWhatTheKernelCounts) {
  node_.kernel.resources.devices["rxe1"].qps.resize(3);
  const rest::Lease lease = Create();

  const HttpResponse response = Get("/v1/devices");

  ASSERT_EQ(response.status, 200U);
  const auto devices = rest::ParseDeviceList(response.body);
  ASSERT_TRUE(devices) << devices.error().message;
  ASSERT_THAT(*devices, SizeIs(2));
  EXPECT_EQ(devices->at(0).name, "rxe0");
  EXPECT_THAT(devices->at(0).leases, ElementsAre(lease.metadata.name));
  EXPECT_EQ(devices->at(1).kernel_objects.at("qp"), 3U);
  EXPECT_THAT(devices->at(1).leases, IsEmpty());
}

TEST_F(NodeApiTest, OneDeviceByName) {
  const HttpResponse response = Get("/v1/devices/rxe1");

  ASSERT_EQ(response.status, 200U);
  EXPECT_EQ(rest::ParseDevice(response.body).value().uverbs, "uverbs1");
}

TEST_F(NodeApiTest, ADeviceThatIsNotHereIsNotFound) {
  EXPECT_EQ(Code(Get("/v1/devices/mlx5_0")), "404 not_found");
  EXPECT_EQ(Code(Get("/v1/devices/..")), "404 not_found");
}

TEST_F(NodeApiTest, ADeviceThatTheKernelCannotCountIsStillShown) {
  node_.kernel.resources.devices.clear();

  const HttpResponse response = Get("/v1/devices/rxe0");

  ASSERT_EQ(response.status, 200U);
  EXPECT_THAT(rest::ParseDevice(response.body).value().kernel_objects, IsEmpty());
}

TEST_F(NodeApiTest, ProcessesAreListedAndFilteredByLease) {
  const rest::Lease lease = Create();
  node_.core.attachments.Add({.pid = ::getpid(),
                              .start_time_ticks = 1,
                              .uid = 1000,
                              .command = "ib_write_bw",
                              .lease = lease.metadata.name,
                              .attached_at = "2026-01-01T00:00:00Z"},
                             UniqueFd(::dup(STDIN_FILENO)));

  const auto all = rest::ParseProcessList(Get("/v1/processes").body).value();
  const auto none = rest::ParseProcessList(Get("/v1/processes?lease=lease-1").body).value();
  const auto mine =
      rest::ParseProcessList(Get("/v1/processes?lease=" + lease.metadata.name).body).value();

  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].command, "ib_write_bw");
  EXPECT_EQ(all[0].tenant, "alice");
  EXPECT_EQ(mine, all);
  EXPECT_THAT(none, IsEmpty());
}

TEST_F(NodeApiTest, EventsGoOnFromASequence) {
  Create();
  Create();
  const auto all = rest::ParseEventList(Get("/v1/events").body).value();
  ASSERT_GE(all.size(), 2U);
  const std::string last_but_one = std::to_string(all.back().sequence - 1);

  const auto since = rest::ParseEventList(Get("/v1/events?since=" + last_but_one).body).value();
  const auto first = rest::ParseEventList(Get("/v1/events?limit=1").body).value();
  const auto none = rest::ParseEventList(Get("/v1/events?limit=0").body).value();

  EXPECT_THAT(since, ElementsAre(all.back()));
  EXPECT_THAT(first, ElementsAre(all.front()));
  EXPECT_THAT(none, IsEmpty());
}

TEST_F(NodeApiTest, EventNumbersAreBounded) {
  for (const char* query : {"since=-1", "since=abc", "since=", "since=1.5", "since=0x1",
                            "since=18446744073709551616", "limit=4097", "limit=-1", "limit=+1"}) {
    EXPECT_EQ(Code(Get(std::string("/v1/events?") + query)), "400 out_of_range") << query;
  }
  EXPECT_EQ(Get("/v1/events?since=9223372036854775807&limit=4096").status, 200U);
}

// --- Creating a lease ---

TEST_F(NodeApiTest, CreatingAnswersTheLeaseItsTokenAndWhereItIs) {
  const HttpResponse response = Post("/v1/leases", kLease);

  ASSERT_EQ(response.status, 201U) << response.body;
  const auto lease = rest::ParseLease(response.body).value();
  EXPECT_THAT(lease.metadata.name, StartsWith("lease-"));
  EXPECT_EQ(lease.metadata.labels.at("job"), "llm-7");
  EXPECT_EQ(lease.spec.tenant, "alice");
  EXPECT_EQ(lease.spec.limits[wire::Limit::kQps], 2U);
  EXPECT_EQ(lease.status.phase, rest::Phase::kActive);
  EXPECT_EQ(lease.status.node, "node-a");
  ASSERT_THAT(lease.status.devices, SizeIs(1));
  EXPECT_EQ(lease.status.devices[0].dscp, 26U);
  EXPECT_THAT(lease.status.token, AllOf(StartsWith("rbl_"), SizeIs(68)));
  EXPECT_EQ(*response.Header("location"), "/v1/leases/" + lease.metadata.name);
  EXPECT_EQ(*response.Header("etag"), "\"" + std::to_string(lease.metadata.revision) + "\"");
}

TEST_F(NodeApiTest, TheTokenIsShownOnceAndNowhereElse) {
  const rest::Lease lease = Create();
  const std::string id = lease.metadata.name;

  EXPECT_THAT(Get("/v1/leases/" + id).body, Not(HasSubstr("rbl_")));
  EXPECT_THAT(LeasesNow(), Not(HasSubstr("rbl_")));
  EXPECT_THAT(Patch(id, "{}").body, Not(HasSubstr("rbl_")));
  EXPECT_THAT(Get("/v1/events").body, Not(HasSubstr("rbl_")));
  EXPECT_THAT(node_.machine.tree.Read("state/checkpoint.json"), Not(HasSubstr("rbl_")));
}

TEST_F(NodeApiTest, ABadBodyIsRefusedAndNamesTheField) {
  const std::string before = LeasesNow();
  const std::vector<std::pair<std::string, std::string>> cases{
      {"", "400 malformed"},
      {"not json", "400 malformed"},
      {R"({"spec": {"tenant": "a"})", "400 malformed"},
      {R"({"spec": {"tenant": "a"}, "spec": {"tenant": "b"}})", "400 malformed"},
      {"[]", "400 wrong_type"},
      {"{}", "400 missing_field"},
      {R"({"spec": {}})", "400 missing_field"},
      {R"({"spec": {"tenant": "a", "limit": {}}})", "400 unknown_field"},
      {R"({"spec": {"tenant": "a"}, "status": {}})", "400 unknown_field"},
      {R"({"spec": {"tenant": 7}})", "400 wrong_type"},
      {R"({"spec": {"tenant": "a", "limits": {"qps": "2"}}})", "400 wrong_type"},
      {R"({"spec": {"tenant": "a", "limits": {"qps": -1}}})", "400 out_of_range"},
      {R"({"spec": {"tenant": "a", "limits": {"qps": 18446744073709551616}}})", "400 out_of_range"},
      {R"({"spec": {"tenant": "a", "ttl_seconds": 0}})", "400 out_of_range"},
      {R"({"spec": {"tenant": "a", "ttl_seconds": 604801}})", "400 out_of_range"},
      {R"({"spec": {"tenant": "A b"}})", "400 out_of_range"},
      {R"({"spec": {"tenant": "a", "workload": {"token": false}}})", "400 missing_field"},
  };
  for (const auto& [body, code] : cases) {
    EXPECT_EQ(Code(Post("/v1/leases", body)), code) << body;
  }
  EXPECT_EQ(LeasesNow(), before);
}

TEST_F(NodeApiTest, ARefusedFieldIsPointedAt) {
  const HttpResponse response =
      Post("/v1/leases", R"({"spec": {"tenant": "a", "limits": {"qp": 2}}})");

  const auto problem = rest::ParseProblem(response.body).value();
  ASSERT_THAT(problem.errors, SizeIs(1));
  EXPECT_EQ(problem.errors[0].pointer, "/spec/limits/qp");
  EXPECT_THAT(problem.request_id, SizeIs(16));
}

TEST_F(NodeApiTest, WhatTheNodeCannotGrantSaysWhy) {
  EXPECT_EQ(Code(Post("/v1/leases", R"({"spec": {"tenant": "a", "node": "node-b"}})")),
            "422 semantic");
  EXPECT_EQ(Code(Post("/v1/leases", R"({"spec": {"tenant": "a", "traffic_class": "gold"}})")),
            "422 semantic");
  EXPECT_EQ(Code(Post("/v1/leases", R"({"spec": {"tenant": "a", "devices": {"count": 3}}})")),
            "404 no_device");
  EXPECT_EQ(Code(Post("/v1/leases", R"({"spec": {"tenant": "a", "limits": {"qps": 1000001}}})")),
            "409 capacity_qps");
}

TEST_F(NodeApiTest, TwoLeasesForOneUidConflict) {
  const std::string body =
      R"({"spec": {"tenant": "a", "workload": {"token": false, "uid": 1000}}})";
  Create(body);

  EXPECT_EQ(Code(Post("/v1/leases", body)), "409 workload_taken");
}

TEST_F(NodeApiTest, ALeaseForACgroupThatIsNotThereLeavesNothingBehind) {
  const std::string before = LeasesNow();

  EXPECT_EQ(Code(Post("/v1/leases",
                      R"({"spec": {"tenant": "a", "workload": {"cgroup": "/kubepods/pod1"}}})")),
            "404 not_found");
  EXPECT_EQ(LeasesNow(), before);
}

TEST_F(NodeApiTest, OnlyJsonIsTakenAsABody) {
  EXPECT_EQ(Code(Send("POST", "/v1/leases", kLease)), "415 unsupported_media_type");
  EXPECT_EQ(Code(Send("POST", "/v1/leases", kLease, {{"content-type", "text/plain"}})),
            "415 unsupported_media_type");
  EXPECT_EQ(Code(Send("POST", "/v1/leases", kLease,
                      {{"content-type", "application/x-www-form-urlencoded"}})),
            "415 unsupported_media_type");
  EXPECT_EQ(
      Send("POST", "/v1/leases", kLease, {{"content-type", "application/json; charset=utf-8"}})
          .status,
      201U);
  // Media types do not mind case or a space before the parameters (RFC 9110).
  EXPECT_EQ(
      Send("POST", "/v1/leases", kLease, {{"content-type", "Application/JSON ; charset=utf-8"}})
          .status,
      201U);
}

// --- Reading leases ---

TEST_F(NodeApiTest, LeasesAreListedInOrderAndFiltered) {
  const std::string alice = Create().metadata.name;
  node_.machine.clock.Advance(std::chrono::seconds(1));
  const std::string bob = Create(R"({"spec": {"tenant": "bob"}})").metadata.name;
  node_.Revoke(alice);
  const auto names = [this](const std::string& query) {
    std::vector<std::string> list;
    const auto leases = rest::ParseLeaseList(Get("/v1/leases" + query).body).value();
    for (const rest::Lease& lease : leases) {
      list.push_back(lease.metadata.name);
    }
    return list;
  };

  EXPECT_THAT(names(""), ElementsAre(alice, bob));
  EXPECT_THAT(names("?tenant=bob"), ElementsAre(bob));
  EXPECT_THAT(names("?phase=revoked"), ElementsAre(alice));
  EXPECT_THAT(names("?tenant=bob&phase=revoked"), IsEmpty());
  EXPECT_THAT(names("?tenant=carol"), IsEmpty());
}

TEST_F(NodeApiTest, APhaseThatDoesNotExistIsATypoNotAnEmptyList) {
  EXPECT_EQ(Code(Get("/v1/leases?phase=activ")), "400 out_of_range");
}

TEST_F(NodeApiTest, ALeaseComesWithItsETag) {
  const rest::Lease lease = Create();

  const HttpResponse response = Get("/v1/leases/" + lease.metadata.name);

  ASSERT_EQ(response.status, 200U);
  EXPECT_EQ(*response.Header("etag"), "\"" + std::to_string(lease.metadata.revision) + "\"");
  EXPECT_EQ(response.Header("location"), nullptr);
}

TEST_F(NodeApiTest, AnUnknownLeaseIsNotFoundOnEveryRoute) {
  EXPECT_EQ(Code(Get("/v1/leases/lease-1")), "404 not_found");
  EXPECT_EQ(Code(Patch("lease-1", "{}")), "404 not_found");
  EXPECT_EQ(Code(Post("/v1/leases/lease-1/renew")), "404 not_found");
  EXPECT_EQ(Code(Post("/v1/leases/lease-1/revoke")), "404 not_found");
}

// --- Changing a lease ---

TEST_F(NodeApiTest, PatchChangesWhatItNamesAndMakesANewRevision) {
  const rest::Lease lease = Create();
  const std::string etag = "\"" + std::to_string(lease.metadata.revision) + "\"";

  const HttpResponse response =
      Patch(lease.metadata.name, R"({"spec": {"limits": {"qps": 8}}})", etag);

  ASSERT_EQ(response.status, 200U) << response.body;
  const auto changed = rest::ParseLease(response.body).value();
  EXPECT_EQ(changed.spec.limits[wire::Limit::kQps], 8U);
  EXPECT_EQ(changed.spec.traffic_class, "storage");
  EXPECT_EQ(changed.metadata.labels, lease.metadata.labels);
  EXPECT_GT(changed.metadata.revision, lease.metadata.revision);
  EXPECT_EQ(*response.Header("etag"), "\"" + std::to_string(changed.metadata.revision) + "\"");
}

TEST_F(NodeApiTest, PatchWithoutIfMatchIsRefused) {
  const rest::Lease lease = Create();

  EXPECT_EQ(Code(Send("PATCH", "/v1/leases/" + lease.metadata.name, "{}",
                      {{"content-type", "application/merge-patch+json"}})),
            "428 precondition_required");
}

TEST_F(NodeApiTest, PatchOfAnOldRevisionIsStale) {
  const rest::Lease lease = Create();
  const std::string etag = "\"" + std::to_string(lease.metadata.revision) + "\"";
  ASSERT_EQ(Patch(lease.metadata.name, R"({"spec": {"limits": {"qps": 8}}})", etag).status, 200U);
  const std::string before = LeasesNow();

  EXPECT_EQ(Code(Patch(lease.metadata.name, R"({"spec": {"limits": {"qps": 16}}})", etag)),
            "412 stale");
  EXPECT_EQ(LeasesNow(), before);
}

TEST_F(NodeApiTest, OnlyAnETagOfOursIsAnIfMatch) {
  const rest::Lease lease = Create();
  for (const char* value : {"", "1", "\"\"", "\"abc\"", "W/\"1\"", "\"1\", \"2\"", "\"-1\"",
                            "\"18446744073709551616\"", "\"1", "1\""}) {
    EXPECT_EQ(Code(Patch(lease.metadata.name, "{}", value)), "400 malformed") << value;
  }
}

TEST_F(NodeApiTest, ABadPatchChangesNothing) {
  const rest::Lease lease = Create();
  const std::string before = LeasesNow();
  const std::vector<std::pair<std::string, std::string>> cases{
      {"", "400 malformed"},
      {"{", "400 malformed"},
      {"7", "400 wrong_type"},
      {R"({"spec": {"limits": {"qps": -8}}})", "400 out_of_range"},
      {R"({"spec": {"limits": {"qps": 1.5}}})", "400 wrong_type"},
      {R"({"spec": {"qps": 8}})", "400 unknown_field"},
      {R"({"metadata": {"name": "lease-1"}})", "400 unknown_field"},
      {R"({"spec": {"tenant": null}})", "400 missing_field"},
      {R"({"spec": {"tenant": "bob"}})", "400 immutable"},
      {R"({"spec": {"ttl_seconds": 7}})", "400 immutable"},
      {R"({"spec": {"traffic_class": "gold"}})", "422 semantic"},
      {R"({"spec": {"limits": {"qps": 1000001}}})", "409 capacity_qps"},
  };
  for (const auto& [body, code] : cases) {
    EXPECT_EQ(Code(Patch(lease.metadata.name, body)), code) << body;
  }
  EXPECT_EQ(LeasesNow(), before);
}

TEST_F(NodeApiTest, PatchTakesAMergePatchAsEitherMediaType) {
  const rest::Lease lease = Create();
  const std::string target = "/v1/leases/" + lease.metadata.name;

  EXPECT_EQ(
      Send("PATCH", target, "{}", {{"content-type", "application/json"}, {"if-match", "*"}}).status,
      200U);
  EXPECT_EQ(Code(Send("PATCH", target, "[]",
                      {{"content-type", "application/json-patch+json"}, {"if-match", "*"}})),
            "415 unsupported_media_type");
}

TEST_F(NodeApiTest, RenewCountsFromNow) {
  const rest::Lease lease = Create();
  node_.machine.clock.Advance(std::chrono::minutes(30));
  const std::string target = "/v1/leases/" + lease.metadata.name + "/renew";

  const HttpResponse response = Post(target, R"({"ttl_seconds": 7200})");

  ASSERT_EQ(response.status, 200U) << response.body;
  const auto renewed = rest::ParseLease(response.body).value();
  EXPECT_EQ(renewed.status.expires_in_seconds, 7200U);
  EXPECT_EQ(renewed.spec.ttl_seconds, 7200U);
}

TEST_F(NodeApiTest, RenewWithoutABodyIsAnHour) {
  const rest::Lease lease = Create();
  const std::string target = "/v1/leases/" + lease.metadata.name + "/renew";

  const HttpResponse response = Send("POST", target);

  ASSERT_EQ(response.status, 200U) << response.body;
  EXPECT_EQ(rest::ParseLease(response.body).value().status.expires_in_seconds, 3600U);
}

TEST_F(NodeApiTest, ABadRenewIsRefused) {
  const rest::Lease lease = Create();
  const std::string target = "/v1/leases/" + lease.metadata.name + "/renew";

  EXPECT_EQ(Code(Post(target, R"({"ttl_seconds": 0})")), "400 out_of_range");
  EXPECT_EQ(Code(Post(target, R"({"ttl_seconds": 604801})")), "400 out_of_range");
  EXPECT_EQ(Code(Post(target, R"({"ttl": 60})")), "400 unknown_field");
  EXPECT_EQ(Code(Post(target, "soon")), "400 malformed");
  EXPECT_EQ(Code(Send("POST", target, "{}")), "415 unsupported_media_type");
}

TEST_F(NodeApiTest, RevokeEndsTheLease) {
  const rest::Lease lease = Create();
  const std::string target = "/v1/leases/" + lease.metadata.name;

  const HttpResponse response = Post(target + "/revoke", R"({"reason": "maintenance"})");

  ASSERT_EQ(response.status, 200U) << response.body;
  EXPECT_EQ(rest::ParseLease(response.body).value().status.phase, rest::Phase::kRevoked);
  // Nothing more can be done with it, and revoking again is no mistake.
  EXPECT_EQ(Code(Patch(lease.metadata.name, "{}")), "409 not_active");
  EXPECT_EQ(Code(Post(target + "/renew")), "409 not_active");
  EXPECT_EQ(Post(target + "/revoke").status, 200U);
  EXPECT_EQ(Get(target).status, 200U);
}

TEST_F(NodeApiTest, ARevokeOfTheOwnersIsARelease) {
  const rest::Lease lease = Create();

  const HttpResponse response =
      Post("/v1/leases/" + lease.metadata.name + "/revoke", R"({"reason": "released"})");

  EXPECT_EQ(rest::ParseLease(response.body).value().status.phase, rest::Phase::kReleased);
}

TEST_F(NodeApiTest, ABadRevokeLeavesTheLeaseActive) {
  const rest::Lease lease = Create();
  const std::string target = "/v1/leases/" + lease.metadata.name + "/revoke";
  const std::string before = LeasesNow();

  EXPECT_EQ(Code(Post(target, R"({"grace": 5})")), "400 unknown_field");
  EXPECT_EQ(Code(Post(target, R"({"grace_ms": -1})")), "400 out_of_range");
  EXPECT_EQ(Code(Post(target, R"({"grace_ms": "now"})")), "400 wrong_type");
  EXPECT_EQ(Code(Send("POST", target, "{}", {{"content-type", "text/plain"}})),
            "415 unsupported_media_type");
  EXPECT_EQ(LeasesNow(), before);
}

// --- What holds for every route ---

TEST_F(NodeApiTest, AnUnknownQueryParameterIsATypo) {
  const std::string lease = "/v1/leases/" + Create().metadata.name;
  for (const std::string& target : {std::string("/v1/node"), std::string("/v1/devices"),
                                    std::string("/v1/devices/rxe0"), std::string("/v1/processes"),
                                    std::string("/v1/events"), std::string("/v1/leases"), lease}) {
    EXPECT_EQ(Code(Get(target + "?watch=true")), "400 unknown_field") << target;
  }
  EXPECT_EQ(Code(Post("/v1/leases?dry=1", kLease)), "400 unknown_field");
  EXPECT_EQ(Code(Post(lease + "/renew?force=1")), "400 unknown_field");
  EXPECT_EQ(Code(Post(lease + "/revoke?force=1")), "400 unknown_field");
  EXPECT_EQ(Code(Send("PATCH", lease + "?force=1", "{}")), "400 unknown_field");
}

TEST_F(NodeApiTest, AQueryParameterMayComeOnce) {
  EXPECT_EQ(Code(Get("/v1/events?since=1&since=2")), "400 malformed");
}

TEST_F(NodeApiTest, AnUnknownPathIsNotFound) {
  for (const char* path : {"/", "/v1", "/v1/", "/v1/lease", "/v2/node", "/v1/leases/", "/metrics",
                           "/v1/leases/a/b/c", "/v1/node/"}) {
    EXPECT_EQ(Code(Get(path)), "404 not_found") << path;
  }
}

TEST_F(NodeApiTest, AWrongMethodSaysWhichAreRight) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"DELETE /v1/leases", "GET, HEAD, POST"},
      {"PUT /v1/leases/lease-1", "GET, HEAD, PATCH"},
      {"DELETE /v1/leases/lease-1", "GET, HEAD, PATCH"},
      {"GET /v1/leases/lease-1/revoke", "POST"},
      {"POST /v1/node", "GET, HEAD"},
      {"POST /v1/devices/rxe0", "GET, HEAD"},
      {"PATCH /v1/events", "GET, HEAD"},
  };
  for (const auto& [request, allow] : cases) {
    const std::size_t space = request.find(' ');
    const HttpResponse response = Send(request.substr(0, space), request.substr(space + 1));

    EXPECT_EQ(Code(response), "405 method_not_allowed") << request;
    ASSERT_NE(response.Header("allow"), nullptr) << request;
    EXPECT_EQ(*response.Header("allow"), allow) << request;
  }
}

TEST_F(NodeApiTest, ABrokenEscapeInAPathIsABadRequest) {
  EXPECT_EQ(Code(Get("/v1/leases/%zz")), "400 bad_request");
}

TEST_F(NodeApiTest, RequestsAreCountedByRouteSoThatIdsAreNoLabels) {
  const std::string id = Create().metadata.name;
  Get("/v1/leases/" + id);
  Get("/v1/leases/lease-1");
  Get("/nowhere");
  Send("BREW", "/v1/leases");

  const auto count = [this](const std::string& labels) {
    return node_.Metric("requests_total", labels);
  };
  EXPECT_EQ(count(R"(method="POST",route="/v1/leases",status="201")"), 1);
  EXPECT_EQ(count(R"(method="GET",route="/v1/leases/{id}",status="200")"), 1);
  EXPECT_EQ(count(R"(method="GET",route="/v1/leases/{id}",status="404")"), 1);
  EXPECT_EQ(count(R"(method="any",route="none",status="404")"), 1);
  EXPECT_EQ(count(R"(method="any",route="none",status="405")"), 1);
}

}  // namespace
}  // namespace rb::agent
