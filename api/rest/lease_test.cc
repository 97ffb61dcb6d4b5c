#include "api/rest/lease.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace rb::rest {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::string_view kFullRequest = R"({
  "metadata": {"labels": {"job": "llm-7", "team.example/owner": "Zoë"}},
  "spec": {
    "tenant": "alice", "node": "n1",
    "devices": {"count": 2, "link_layer": "ethernet"},
    "limits": {"contexts": 1, "qps": 2, "mr_bytes": 9223372036854775807, "ahs": 0},
    "traffic_class": "gradient-exchange", "on_foreign_class": "refuse",
    "rate": {"max_bits_per_second": 80000000, "burst_bytes": 4096}, "pacing": "off",
    "devx": "allow", "raw": "allow", "unknown": "allow", "accounting": false,
    "ttl_seconds": 604800, "workload": {"token": true, "uid": 1000}}})";

Lease FullLease() {
  Lease lease;
  lease.metadata = {.name = "lease-0123456789abcdef",
                    .revision = 18446744073709551615U,
                    .created_at = "2026-12-01T10:46:57Z",
                    .labels = {{"a/b", "1"}}};
  lease.spec = ParseLeaseRequest(kFullRequest)->spec;
  lease.status.phase = Phase::kActive;
  lease.status.node = "n1";
  lease.status.devices = {{.name = "rxe0", .port = 1, .dscp = 26, .sl = std::nullopt}};
  lease.status.enforcement = {{"qps", "shim"}, {"contexts", "kernel"}};
  lease.status.usage.used[wire::Index(wire::Limit::kQps)] = 2;
  lease.status.usage.denials[wire::Index(wire::Limit::kMrs)] = 7;
  lease.status.usage.ops = {{"write", {.messages = 3, .bytes = 4096}}};
  lease.status.usage.throttled_ns = 5;
  lease.status.usage.processes = 1;
  lease.status.expires_in_seconds = 60;
  lease.status.token = "rbl_00";
  lease.status.conditions = {{.type = "unknown", .message = "node silent", .since = "now"}};
  return lease;
}

TEST(ParseLeaseRequestTest, FillsWhatIsLeftOutWithDefaults) {
  const auto request = ParseLeaseRequest(R"({"spec": {"tenant": "alice"}})");

  LeaseRequest expected;
  expected.spec.tenant = "alice";
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_EQ(*request, expected);
  EXPECT_EQ(request->spec.limits[wire::Limit::kQps], 64U);
  EXPECT_EQ(request->spec.ttl_seconds, 3600U);
  EXPECT_TRUE(request->spec.workload.token);
}

TEST(ParseLeaseRequestTest, ReadsEveryField) {
  const auto request = ParseLeaseRequest(kFullRequest);

  ASSERT_TRUE(request) << request.error().message;
  const LeaseSpec& spec = request->spec;
  EXPECT_EQ(request->labels.at("team.example/owner"), "Zoë");
  EXPECT_EQ(spec.node, "n1");
  EXPECT_EQ(spec.devices, (DeviceWish{.count = 2, .names = {}, .link_layer = "ethernet"}));
  EXPECT_EQ(spec.limits[wire::Limit::kContexts], 1U);
  EXPECT_EQ(spec.limits[wire::Limit::kMrBytes], 9223372036854775807U);
  EXPECT_EQ(spec.limits[wire::Limit::kAhs], 0U);
  EXPECT_EQ(spec.limits[wire::Limit::kPds], 8U) << "a limit that is left out keeps its default";
  EXPECT_EQ(spec.on_foreign_class, ForeignClass::kRefuse);
  EXPECT_EQ(spec.rate, (Rate{.max_bits_per_second = 80000000, .burst_bytes = 4096}));
  EXPECT_EQ(spec.pacing, Pacing::kOff);
  EXPECT_EQ(spec.devx, Permission::kAllow);
  EXPECT_FALSE(spec.accounting);
  EXPECT_EQ(spec.ttl_seconds, 604800U);
  EXPECT_EQ(spec.workload, (Workload{.token = true, .uid = 1000, .cgroup = ""}));
}

TEST(ParseLeaseRequestTest, WhatIsDumpedIsRead) {
  const auto request = ParseLeaseRequest(kFullRequest);
  ASSERT_TRUE(request);

  const auto again = ParseLeaseRequest(DumpLeaseRequest(*request));

  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, *request);
}

TEST(ParseLeaseRequestTest, CountFollowsTheNames) {
  const auto request =
      ParseLeaseRequest(R"({"spec":{"tenant":"a","devices":{"names":["mlx5_0","rxe0"]}}})");

  ASSERT_TRUE(request) << request.error().message;
  EXPECT_EQ(request->spec.devices.count, 2U);
}

// A spec with one member, beside the tenant.
std::string Spec(std::string_view member) {
  return R"({"spec":{"tenant":"a",)" + std::string(member) + "}}";
}

TEST(ParseLeaseRequestTest, AcceptsTheEdgesOfEveryRange) {
  const std::string segment255(255, 'a');
  for (const std::string& good : {
           Spec(R"("devices":{"count":1})"),
           Spec(R"("devices":{"count":16})"),
           Spec(R"("limits":{"qps":0})"),
           Spec(R"("limits":{"qps":2147483647})"),
           Spec(R"("limits":{"mr_bytes":9223372036854775807})"),
           Spec(R"("rate":{"max_bits_per_second":0})"),
           Spec(R"("rate":{"max_bits_per_second":8000})"),
           Spec(R"("rate":{"max_bits_per_second":100000000000000})"),
           Spec(R"("rate":{"burst_bytes":4096})"),
           Spec(R"("rate":{"burst_bytes":1073741824})"),
           Spec(R"("ttl_seconds":1)"),
           Spec(R"("ttl_seconds":604800)"),
           Spec(R"("workload":{"uid":0})"),
           Spec(R"("workload":{"token":false,"uid":4294967294})"),
           Spec(R"("workload":{"cgroup":"/kubepods/pod1"})"),
           Spec(R"("workload":{"cgroup":"/)" + segment255 + "\"}"),
           std::string(R"({"spec":{"tenant":")") + std::string(63, 'a') + "\"}}",
           std::string(R"({"spec":{"tenant":"0.a-b"}})"),
       }) {
    const auto request = ParseLeaseRequest(good);
    EXPECT_TRUE(request) << good << "\n" << request.error().message;
  }
}

struct BadBody {
  std::string json;
  std::string pointer;
  std::string reason;
};

class BadLeaseRequestTest : public ::testing::TestWithParam<BadBody> {};

TEST_P(BadLeaseRequestTest, IsRefusedWithPointerAndReason) {
  const auto request = ParseLeaseRequest(GetParam().json);

  ASSERT_FALSE(request) << GetParam().json;
  EXPECT_EQ(request.error().code, ErrorCode::kInvalid);
  EXPECT_EQ(request.error().reason, GetParam().reason) << request.error().message;
  EXPECT_THAT(request.error().message, StartsWith(GetParam().pointer + ": "));
}

std::string Deep(int levels) {
  return std::string(static_cast<std::size_t>(levels), '[') +
         std::string(static_cast<std::size_t>(levels), ']');
}

std::string ManyLabels(int count) {
  std::string labels;
  for (int i = 0; i < count; ++i) {
    labels += (i == 0 ? "\"k" : ",\"k") + std::to_string(i) + "\":\"v\"";
  }
  return R"({"metadata":{"labels":{)" + labels + R"(}},"spec":{"tenant":"a"}})";
}

INSTANTIATE_TEST_SUITE_P(
    NotJson, BadLeaseRequestTest,
    ::testing::Values(
        BadBody{"", "body", "malformed"}, BadBody{" ", "body", "malformed"},
        BadBody{"{", "body", "malformed"}, BadBody{"{}x", "body", "malformed"},
        BadBody{"{'a':1}", "body", "malformed"},
        BadBody{R"({"spec":{"tenant":"a"},})", "body", "malformed"},
        BadBody{R"({"spec":{"tenant":"a"}} // c)", "body", "malformed"},
        BadBody{"{\"spec\":{\"tenant\":\"\xFF\"}}", "body", "malformed"},
        BadBody{"{\"spec\":{\"tenant\":\"\xC0\x80\"}}", "body", "malformed"},
        BadBody{"{\"spec\":{\"tenant\":\"\\ud800\"}}", "body", "malformed"},
        BadBody{std::string("{\"spec\":{\"tenant\":\"a\0\"}}", 23), "body", "malformed"},
        BadBody{R"({"spec":{"tenant":"a","ttl_seconds":1e999}})", "body", "malformed"},
        BadBody{R"({"spec":{"tenant":"a","ttl_seconds":NaN}})", "body", "malformed"},
        BadBody{R"({"spec":{"tenant":"a","ttl_seconds":01}})", "body", "malformed"},
        BadBody{R"({"spec":{"tenant":"a"},"spec":{"tenant":"b"}})", "body", "malformed"},
        BadBody{R"({"spec":{"tenant":"a","tenant":"a"}})", "body", "malformed"},
        BadBody{Deep(17), "body", "malformed"}, BadBody{Deep(100000), "body", "malformed"},
        BadBody{std::string((1U << 20) + 1, ' '), "body", "too_large"}));

INSTANTIATE_TEST_SUITE_P(
    Shape, BadLeaseRequestTest,
    ::testing::Values(BadBody{"[]", "body", "wrong_type"}, BadBody{"null", "body", "wrong_type"},
                      BadBody{"7", "body", "wrong_type"}, BadBody{Deep(16), "body", "wrong_type"},
                      BadBody{"{}", "/spec", "missing_field"},
                      BadBody{R"({"spec":{}})", "/spec/tenant", "missing_field"},
                      BadBody{R"({"spec":null})", "/spec", "wrong_type"},
                      BadBody{R"({"spec":{"tenat":"a"}})", "/spec/tenat", "unknown_field"},
                      BadBody{R"({"spec":{"tenant":"a"},"status":{}})", "/status", "unknown_field"},
                      BadBody{R"({"spec":{"tenant":"a"},"":{}})", "/", "unknown_field"},
                      BadBody{R"({"spec":{"tenant":"a"},"a/b~c":1})", "/a~1b~0c", "unknown_field"},
                      BadBody{R"({"metadata":{"name":"x"},"spec":{"tenant":"a"}})",
                              "/metadata/name", "unknown_field"},
                      BadBody{R"({"metadata":{"labels":{"a":1}},"spec":{"tenant":"a"}})",
                              "/metadata/labels/a", "wrong_type"},
                      BadBody{R"({"metadata":{"labels":[]},"spec":{"tenant":"a"}})",
                              "/metadata/labels", "wrong_type"},
                      BadBody{R"({"metadata":{"labels":{"":"x"}},"spec":{"tenant":"a"}})",
                              "/metadata/labels/", "out_of_range"},
                      BadBody{R"({"metadata":{"labels":{"a":"\u0007"}},"spec":{"tenant":"a"}})",
                              "/metadata/labels/a", "out_of_range"},
                      BadBody{R"({"metadata":{"labels":{"a":")" + std::string(129, 'x') +
                                  R"("}},"spec":{"tenant":"a"}})",
                              "/metadata/labels/a", "out_of_range"},
                      BadBody{ManyLabels(33), "/metadata/labels", "out_of_range"}));

INSTANTIATE_TEST_SUITE_P(
    Text, BadLeaseRequestTest,
    ::testing::Values(
        BadBody{R"({"spec":{"tenant":7}})", "/spec/tenant", "wrong_type"},
        BadBody{R"({"spec":{"tenant":""}})", "/spec/tenant", "out_of_range"},
        BadBody{R"({"spec":{"tenant":"-a"}})", "/spec/tenant", "out_of_range"},
        BadBody{R"({"spec":{"tenant":"Alice"}})", "/spec/tenant", "out_of_range"},
        BadBody{R"({"spec":{"tenant":"a\u0000"}})", "/spec/tenant", "out_of_range"},
        BadBody{R"({"spec":{"tenant":"../a"}})", "/spec/tenant", "out_of_range"},
        BadBody{R"({"spec":{"tenant":")" + std::string(64, 'a') + "\"}}", "/spec/tenant",
                "out_of_range"},
        BadBody{Spec(R"("node":"N 1")"), "/spec/node", "out_of_range"},
        BadBody{Spec(R"("traffic_class":"a b")"), "/spec/traffic_class", "out_of_range"},
        BadBody{Spec(R"("on_foreign_class":"drop")"), "/spec/on_foreign_class", "out_of_range"},
        BadBody{Spec(R"("pacing":"defer")"), "/spec/pacing", "out_of_range"},
        BadBody{Spec(R"("pacing":false)"), "/spec/pacing", "wrong_type"},
        BadBody{Spec(R"("devx":true)"), "/spec/devx", "wrong_type"},
        BadBody{Spec(R"("accounting":1)"), "/spec/accounting", "wrong_type"},
        BadBody{Spec(R"("accounting":"true")"), "/spec/accounting", "wrong_type"},
        BadBody{Spec(R"("devices":{"link_layer":"token-ring"})"), "/spec/devices/link_layer",
                "out_of_range"},
        BadBody{Spec(R"("devices":{"names":["a","a"]})"), "/spec/devices/names", "out_of_range"},
        BadBody{Spec(R"("devices":{"names":["a","../b"]})"), "/spec/devices/names/1",
                "out_of_range"},
        BadBody{Spec(R"("devices":{"names":[1]})"), "/spec/devices/names/0", "wrong_type"},
        BadBody{Spec(R"("devices":{"names":["a"],"count":2})"), "/spec/devices/count",
                "out_of_range"},
        BadBody{Spec(R"("devices":["a"])"), "/spec/devices", "wrong_type"}));

INSTANTIATE_TEST_SUITE_P(
    Numbers, BadLeaseRequestTest,
    ::testing::Values(
        BadBody{Spec(R"("limits":{"qps":-1})"), "/spec/limits/qps", "out_of_range"},
        BadBody{Spec(R"("limits":{"qps":1.0})"), "/spec/limits/qps", "wrong_type"},
        BadBody{Spec(R"("limits":{"qps":1e3})"), "/spec/limits/qps", "wrong_type"},
        BadBody{Spec(R"("limits":{"qps":"64"})"), "/spec/limits/qps", "wrong_type"},
        BadBody{Spec(R"("limits":{"qps":null})"), "/spec/limits/qps", "wrong_type"},
        BadBody{Spec(R"("limits":{"qps":true})"), "/spec/limits/qps", "wrong_type"},
        BadBody{Spec(R"("limits":{"qps":2147483648})"), "/spec/limits/qps", "out_of_range"},
        BadBody{Spec(R"("limits":{"queue_pairs":1})"), "/spec/limits/queue_pairs", "unknown_field"},
        BadBody{Spec(R"("limits":{"mr_bytes":9223372036854775808})"), "/spec/limits/mr_bytes",
                "out_of_range"},
        BadBody{Spec(R"("limits":{"mr_bytes":18446744073709551615})"), "/spec/limits/mr_bytes",
                "out_of_range"},
        BadBody{Spec(R"("limits":{"mr_bytes":18446744073709551616})"), "/spec/limits/mr_bytes",
                "out_of_range"},
        BadBody{Spec(R"("limits":{"mr_bytes":-9223372036854775809})"), "/spec/limits/mr_bytes",
                "out_of_range"},
        BadBody{Spec(R"("devices":{"count":0})"), "/spec/devices/count", "out_of_range"},
        BadBody{Spec(R"("devices":{"count":17})"), "/spec/devices/count", "out_of_range"},
        BadBody{Spec(R"("devices":{"count":4294967297})"), "/spec/devices/count", "out_of_range"},
        BadBody{Spec(R"("rate":{"max_bits_per_second":7999})"), "/spec/rate/max_bits_per_second",
                "out_of_range"},
        BadBody{Spec(R"("rate":{"max_bits_per_second":100000000000001})"),
                "/spec/rate/max_bits_per_second", "out_of_range"},
        BadBody{Spec(R"("rate":{"burst_bytes":4095})"), "/spec/rate/burst_bytes", "out_of_range"},
        BadBody{Spec(R"("rate":{"burst_bytes":1073741825})"), "/spec/rate/burst_bytes",
                "out_of_range"},
        BadBody{Spec(R"("ttl_seconds":0)"), "/spec/ttl_seconds", "out_of_range"},
        BadBody{Spec(R"("ttl_seconds":604801)"), "/spec/ttl_seconds", "out_of_range"}));

INSTANTIATE_TEST_SUITE_P(
    Workloads, BadLeaseRequestTest,
    ::testing::Values(
        BadBody{Spec(R"("workload":{})"), "/spec/workload", "missing_field"},
        BadBody{Spec(R"("workload":{"token":false})"), "/spec/workload", "missing_field"},
        BadBody{Spec(R"("workload":{"token":true,"cgroup":"/a"})"), "/spec/workload",
                "out_of_range"},
        BadBody{Spec(R"("workload":{"uid":1,"cgroup":"/a"})"), "/spec/workload", "out_of_range"},
        BadBody{Spec(R"("workload":{"uid":4294967295})"), "/spec/workload/uid", "out_of_range"},
        BadBody{Spec(R"("workload":{"uid":"root"})"), "/spec/workload/uid", "wrong_type"},
        BadBody{Spec(R"("workload":{"cgroup":"a/b"})"), "/spec/workload/cgroup", "out_of_range"},
        BadBody{Spec(R"("workload":{"cgroup":"/"})"), "/spec/workload/cgroup", "out_of_range"},
        BadBody{Spec(R"("workload":{"cgroup":"/a/../b"})"), "/spec/workload/cgroup",
                "out_of_range"},
        BadBody{Spec(R"("workload":{"cgroup":"/a/./b"})"), "/spec/workload/cgroup", "out_of_range"},
        BadBody{Spec(R"("workload":{"cgroup":"/a//b"})"), "/spec/workload/cgroup", "out_of_range"},
        BadBody{Spec(R"("workload":{"cgroup":"/a/"})"), "/spec/workload/cgroup", "out_of_range"},
        BadBody{Spec(R"("workload":{"cgroup":"/a\nb"})"), "/spec/workload/cgroup", "out_of_range"},
        BadBody{Spec(R"("workload":{"pod_uid":"x"})"), "/spec/workload/pod_uid", "unknown_field"}));

TEST(ApplyLeasePatchTest, ChangesOnlyWhatItNames) {
  const auto current = ParseLeaseRequest(kFullRequest);
  ASSERT_TRUE(current);

  const auto patched = ApplyLeasePatch(
      *current, R"({"spec":{"rate":{"max_bits_per_second":41943040},"limits":{"qps":8}}})");

  LeaseRequest expected = *current;
  expected.spec.rate.max_bits_per_second = 41943040;
  expected.spec.limits[wire::Limit::kQps] = 8;
  ASSERT_TRUE(patched) << patched.error().message;
  EXPECT_EQ(*patched, expected);
}

TEST(ApplyLeasePatchTest, NullGivesTheDefaultBack) {
  const auto current = ParseLeaseRequest(kFullRequest);
  ASSERT_TRUE(current);

  const auto patched = ApplyLeasePatch(
      *current,
      R"({"metadata":{"labels":{"job":null}},"spec":{"traffic_class":null,"rate":null}})");

  ASSERT_TRUE(patched) << patched.error().message;
  EXPECT_EQ(patched->labels, (Labels{{"team.example/owner", "Zoë"}}));
  EXPECT_EQ(patched->spec.traffic_class, "");
  EXPECT_EQ(patched->spec.rate, Rate{});
}

TEST(ApplyLeasePatchTest, PatchedNamesSetTheCount) {
  const auto current =
      ParseLeaseRequest(R"({"spec":{"tenant":"a","devices":{"names":["d0","d1"]}}})");
  ASSERT_TRUE(current);

  const auto patched = ApplyLeasePatch(*current, R"({"spec":{"devices":{"names":["d0"]}}})");

  ASSERT_TRUE(patched) << patched.error().message;
  EXPECT_EQ(patched->spec.devices.count, 1U);
}

TEST(ApplyLeasePatchTest, IsAsStrictAsACreation) {
  const auto current = ParseLeaseRequest(kFullRequest);
  ASSERT_TRUE(current);
  for (const auto& [patch, reason] : std::vector<std::pair<std::string, std::string>>{
           {"", "malformed"},
           {"[]", "wrong_type"},
           {"null", "wrong_type"},
           {R"({"spec":{"ttl":1}})", "unknown_field"},
           {R"({"spec":{"limits":{"qps":-1}}})", "out_of_range"},
           {R"({"spec":{"tenant":null}})", "missing_field"},
           {R"({"spec":null})", "missing_field"},
           {R"({"status":{"phase":"active"}})", "unknown_field"},
           {R"({"spec":{"limits":{"qps":1,"qps":2}}})", "malformed"},
       }) {
    const auto patched = ApplyLeasePatch(*current, patch);
    ASSERT_FALSE(patched) << patch;
    EXPECT_EQ(patched.error().reason, reason) << patch << "\n" << patched.error().message;
  }
}

TEST(DiffLeaseRequestsTest, NamesOnlyWhatDiffers) {
  const auto from = ParseLeaseRequest(kFullRequest);
  ASSERT_TRUE(from);
  LeaseRequest to = *from;
  EXPECT_EQ(DiffLeaseRequests(*from, to), "{}");

  to.spec.limits[wire::Limit::kQps] = 8;
  to.spec.traffic_class.clear();
  to.labels = {{"job", "llm-8"}};

  const std::string patch = DiffLeaseRequests(*from, to);
  EXPECT_EQ(patch,
            R"({"metadata":{"labels":{"job":"llm-8","team.example/owner":null}},)"
            R"("spec":{"limits":{"qps":8},"traffic_class":null}})");
  EXPECT_EQ(*ApplyLeasePatch(*from, patch), to);
}

TEST(LeaseJsonTest, WhatIsDumpedIsRead) {
  const Lease lease = FullLease();

  const auto again = ParseLease(DumpLease(lease));

  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, lease);
}

TEST(LeaseJsonTest, ListsKeepTheirOrder) {
  std::vector<Lease> leases{FullLease(), FullLease()};
  leases[1].metadata.name = "lease-0";

  const auto again = ParseLeaseList(DumpLeaseList(leases));

  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, leases);
  EXPECT_EQ(DumpLeaseList({}), R"({"items":[]})");
}

TEST(LeaseJsonTest, ATokenIsOnlyShownWhenItIsSet) {
  Lease lease = FullLease();
  lease.status.token.clear();

  EXPECT_THAT(DumpLease(lease), Not(HasSubstr("\"status\":{\"phase\":\"active\",\"token\"")));
  EXPECT_THAT(DumpLease(lease), Not(HasSubstr("rbl_")));
}

TEST(LeaseJsonTest, BytesThatAreNotUtf8AreReplacedNotThrown) {
  Lease lease = FullLease();
  lease.status.conditions[0].message = "bad \xFF byte";

  const auto again = ParseLease(DumpLease(lease));

  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->status.conditions[0].message, "bad \xEF\xBF\xBD byte");
}

TEST(LeaseJsonTest, EveryPhaseHasAName) {
  for (const auto& [phase, name, ended] :
       std::vector<std::tuple<Phase, std::string, bool>>{{Phase::kPending, "pending", false},
                                                         {Phase::kActive, "active", false},
                                                         {Phase::kDraining, "draining", false},
                                                         {Phase::kReleased, "released", true},
                                                         {Phase::kExpired, "expired", true},
                                                         {Phase::kRevoked, "revoked", true},
                                                         {Phase::kFailed, "failed", true}}) {
    EXPECT_EQ(Name(phase), name);
    EXPECT_EQ(IsEnded(phase), ended) << name;
  }
}

TEST(RenewRequestTest, EmptyBodyIsTheDefault) {
  EXPECT_EQ(ParseRenewRequest("")->ttl_seconds, 3600U);
  EXPECT_EQ(ParseRenewRequest("{}")->ttl_seconds, 3600U);
  EXPECT_EQ(ParseRenewRequest(DumpRenewRequest({.ttl_seconds = 5}))->ttl_seconds, 5U);
}

TEST(RenewRequestTest, RefusesATtlThatIsNoTtl) {
  EXPECT_EQ(ParseRenewRequest(R"({"ttl_seconds":0})").error().reason, "out_of_range");
  EXPECT_EQ(ParseRenewRequest(R"({"ttl_seconds":604801})").error().reason, "out_of_range");
  EXPECT_EQ(ParseRenewRequest(R"({"ttl":1})").error().reason, "unknown_field");
  EXPECT_EQ(ParseRenewRequest(" ").error().reason, "malformed");
}

TEST(RevokeRequestTest, ReadsGraceAndReason) {
  const auto request = ParseRevokeRequest(R"({"grace_ms":600000,"reason":"released"})");

  ASSERT_TRUE(request) << request.error().message;
  EXPECT_EQ(request->grace_ms, 600000U);
  EXPECT_EQ(request->reason, "released");
  EXPECT_EQ(ParseRevokeRequest("")->grace_ms, 0U);
  EXPECT_EQ(ParseRevokeRequest(DumpRevokeRequest({}))->reason, "");
}

TEST(RevokeRequestTest, RefusesWhatIsOutOfRange) {
  EXPECT_EQ(ParseRevokeRequest(R"({"grace_ms":600001})").error().reason, "out_of_range");
  EXPECT_EQ(ParseRevokeRequest(R"({"reason":""})").error().reason, "out_of_range");
  EXPECT_EQ(ParseRevokeRequest(R"({"reason":"a\nb"})").error().reason, "out_of_range");
  EXPECT_EQ(ParseRevokeRequest("[]").error().reason, "wrong_type");
}

}  // namespace
}  // namespace rb::rest
