#include "cli/commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "api/rest/node.h"
#include "cli/fake_node_api.h"

namespace rb::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

rest::Lease TwoQpLease() {
  rest::Lease lease;
  lease.metadata.name = "lease-0";
  lease.spec.tenant = "alice";
  lease.spec.limits[wire::Limit::kQps] = 2;
  lease.spec.rate.max_bits_per_second = 167'772'160;
  lease.status.phase = rest::Phase::kActive;
  lease.status.devices = {{.name = "rxe0", .port = 1, .dscp = {}, .sl = {}}};
  lease.status.usage.used[wire::Index(wire::Limit::kQps)] = 1;
  lease.status.usage.denials[wire::Index(wire::Limit::kQps)] = 3;
  lease.status.enforcement = {{"qps", "shim"}};
  lease.status.expires_in_seconds = 90;
  return lease;
}

class CommandsTest : public ::testing::Test {
 protected:
  Output To(Format format) { return {.out = out_, .format = format}; }

  FakeNodeApi api_;
  std::ostringstream out_;
};

TEST_F(CommandsTest, GetLeasesIsATable) {
  api_.Answer(rest::DumpLeaseList({TwoQpLease()}));

  ASSERT_TRUE(RunGet({.kind = Kind::kLeases, .name = ""}, api_, To(Format::kTable)));

  EXPECT_EQ(api_.requests[0].target, "/v1/leases");
  EXPECT_EQ(out_.str(),
            "NAME     TENANT  PHASE   DEVICES  QPS  RATE     CLASS  PROCESSES  EXPIRES IN\n"
            "lease-0  alice   active  rxe0     1/2  20MiB/s  -      0          90s\n");
}

TEST_F(CommandsTest, JsonAndYamlKeepEverythingTheAgentSaid) {
  api_.Answer(R"({"items":[],"later":"field"})");
  api_.Answer(R"({"items":[],"later":"field"})");

  ASSERT_TRUE(RunGet({.kind = Kind::kLeases, .name = ""}, api_, To(Format::kJson)));
  ASSERT_TRUE(RunGet({.kind = Kind::kLeases, .name = ""}, api_, To(Format::kYaml)));

  EXPECT_EQ(out_.str(),
            "{\n  \"items\": [],\n  \"later\": \"field\"\n}\nitems: []\nlater: field\n");
}

TEST_F(CommandsTest, EveryKindHasItsTarget) {
  rest::Node node;
  node.traffic_classes = {{.name = "bulk"}};
  node.enforcement = {{"qps", "shim"}};
  rest::Process process;
  process.pid = 4711;
  rest::Event event;
  event.type = "denied";
  const std::vector<std::tuple<Kind, std::string, std::string>> kinds{
      {Kind::kDevices, "/v1/devices", rest::DumpDeviceList({})},
      {Kind::kNode, "/v1/node", rest::DumpNode(node)},
      {Kind::kProcesses, "/v1/processes", rest::DumpProcessList({process})},
      {Kind::kEvents, "/v1/events", rest::DumpEventList({event})}};
  for (const auto& [kind, target, body] : kinds) {
    api_.Answer(body);
    ASSERT_TRUE(RunGet({.kind = kind, .name = ""}, api_, To(Format::kTable)));
    EXPECT_EQ(api_.requests.back().target, target);
  }
  for (const char* text : {"bulk", "4711", "denied", "shim"})
    EXPECT_THAT(out_.str(), HasSubstr(text));
}

TEST_F(CommandsTest, DescribeShowsUsedAllowedAndDenied) {
  api_.Answer(rest::DumpLease(TwoQpLease()));

  ASSERT_TRUE(RunGet({.kind = Kind::kLeases, .name = "lease-0", .detailed = true}, api_,
                     To(Format::kTable)));

  EXPECT_EQ(api_.requests[0].target, "/v1/leases/lease-0");
  EXPECT_THAT(out_.str(), HasSubstr("qps       1     2        3       shim\n"));
}

TEST_F(CommandsTest, DescribeDeviceShowsPortsAndObjects) {
  rest::Device device;
  device.name = "rxe0";
  device.ports.emplace_back().rate_bits_per_second = 1'000'000'000;
  device.kernel_objects = {{"qp", 5}};
  device.limits = {{"max_qp", 65536}};
  api_.Answer(rest::DumpDevice(device));

  ASSERT_TRUE(
      RunGet({.kind = Kind::kDevices, .name = "rxe0", .detailed = true}, api_, To(Format::kTable)));

  EXPECT_THAT(out_.str(), HasSubstr("1Gbps"));
  EXPECT_THAT(out_.str(), HasSubstr("  qp:  5"));
  EXPECT_THAT(out_.str(), HasSubstr("  max_qp:  65536"));
}

TEST_F(CommandsTest, EventsSendTheirRange) {
  api_.Answer(rest::DumpEventList({}));

  ASSERT_TRUE(RunGet({.kind = Kind::kEvents, .name = "", .since = "7", .limit = "10"}, api_,
                     To(Format::kTable)));

  EXPECT_EQ(api_.requests[0].target, "/v1/events?since=7&limit=10");
}

TEST_F(CommandsTest, ABadRangeIsFoundBeforeTheCall) {
  const auto done =
      RunGet({.kind = Kind::kEvents, .name = "", .since = "yesterday"}, api_, To(Format::kTable));

  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, StartsWith("--since: "));
  EXPECT_TRUE(api_.requests.empty());
}

TEST_F(CommandsTest, AWrongNamePointsAtTheList) {
  api_.Refuse(ErrorCode::kNotFound, "lease x: not found");

  const auto done = RunGet({.kind = Kind::kLeases, .name = "x"}, api_, To(Format::kTable));

  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(done.error().message, HasSubstr("rdmactl get leases"));
  EXPECT_EQ(out_.str(), "");
}

TEST_F(CommandsTest, AnAnswerThatIsNoneIsAnErrorAndPrintsNothing) {
  api_.Answer("<html>");

  EXPECT_FALSE(RunGet({.kind = Kind::kLeases, .name = ""}, api_, To(Format::kTable)));
  EXPECT_EQ(out_.str(), "");
}

TEST_F(CommandsTest, CreateSendsTheRequestAndShowsTheToken) {
  rest::Lease lease = TwoQpLease();
  lease.status.token = "rbl_00ff";
  api_.Answer(rest::DumpLease(lease));
  CreateOptions options;
  options.lease.tenant = "alice";
  options.lease.limits[wire::Index(wire::Limit::kQps)] = "2";

  ASSERT_TRUE(RunCreate(options, api_, To(Format::kTable)));

  rest::LeaseRequest expected;
  expected.spec.tenant = "alice";
  expected.spec.limits[wire::Limit::kQps] = 2;
  EXPECT_EQ(*rest::ParseLeaseRequest(api_.requests[0].body), expected);
  EXPECT_THAT(out_.str(), HasSubstr("rbl_00ff"));
}

TEST_F(CommandsTest, CreateFindsAMistakeBeforeTheCall) {
  CreateOptions options;
  options.lease.tenant = "Alice";

  EXPECT_FALSE(RunCreate(options, api_, To(Format::kTable)));
  EXPECT_TRUE(api_.requests.empty());
}

TEST_F(CommandsTest, PatchChangesTheRate) {
  api_.Answer(rest::DumpLease(TwoQpLease()), "\"1\"");
  api_.Answer(rest::DumpLease(TwoQpLease()));
  PatchOptions options{.id = "lease-0", .lease = {}};
  options.lease.rate = "5MiB/s";

  ASSERT_TRUE(RunPatch(options, api_, To(Format::kTable)));

  EXPECT_EQ(api_.requests[1].body, R"({"spec":{"rate":{"max_bits_per_second":41943040}}})");
}

TEST_F(CommandsTest, PatchWithoutFlagsSaysWhatIsMissing) {
  const auto done = RunPatch({.id = "lease-0", .lease = {}}, api_, To(Format::kTable));

  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("nothing to change"));
}

TEST_F(CommandsTest, RenewAndRevokeSendTheirBodies) {
  api_.Answer(rest::DumpLease(TwoQpLease()));
  api_.Answer(rest::DumpLease(TwoQpLease()));

  ASSERT_TRUE(RunRenew({.id = "lease-0", .ttl = "5m"}, api_, To(Format::kTable)));
  ASSERT_TRUE(
      RunRevoke({.id = "lease-0", .grace = "250ms", .reason = "broken"}, api_, To(Format::kTable)));

  EXPECT_EQ(api_.requests[0].target, "/v1/leases/lease-0/renew");
  EXPECT_EQ(api_.requests[0].body, R"({"ttl_seconds":300})");
  EXPECT_EQ(api_.requests[1].target, "/v1/leases/lease-0/revoke");
  EXPECT_EQ(api_.requests[1].body, R"({"grace_ms":250,"reason":"broken"})");
}

TEST_F(CommandsTest, RenewAndRevokeRefuseBadTimes) {
  EXPECT_FALSE(RunRenew({.id = "lease-0", .ttl = "soon"}, api_, To(Format::kTable)));
  EXPECT_FALSE(RunRevoke({.id = "lease-0", .grace = "1", .reason = ""}, api_, To(Format::kTable)));
  EXPECT_TRUE(api_.requests.empty());
}

}  // namespace
}  // namespace rb::cli
