#include "cli/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rb::cli {
namespace {

using ::testing::HasSubstr;

Result<Options> Parse(const std::vector<std::string>& arguments) { return ParseOptions(arguments); }

template <class T>
T Command(const std::vector<std::string>& arguments) {
  const auto options = Parse(arguments);
  EXPECT_TRUE(options) << options.error().message;
  if (!options || !std::holds_alternative<T>(options->command)) {
    ADD_FAILURE() << "another command";
    return {};
  }
  return std::get<T>(options->command);
}

TEST(ParseOptionsTest, GetTakesAKindAndAName) {
  EXPECT_EQ(Command<GetOptions>({"get", "leases"}).kind, Kind::kLeases);
  EXPECT_EQ(Command<GetOptions>({"get", "node"}).kind, Kind::kNode);
  EXPECT_EQ(Command<GetOptions>({"get", "processes"}).kind, Kind::kProcesses);
  EXPECT_EQ(Command<GetOptions>({"get", "events"}).kind, Kind::kEvents);
  const GetOptions one = Command<GetOptions>({"get", "device", "rxe0"});
  EXPECT_EQ(one.kind, Kind::kDevices);
  EXPECT_EQ(one.name, "rxe0");
  EXPECT_FALSE(one.detailed);
  EXPECT_TRUE(Command<GetOptions>({"describe", "lease", "lease-0"}).detailed);
}

TEST(ParseOptionsTest, GlobalFlagsMayStandAnywhere) {
  const auto before = Parse({"--node", "/a", "-o", "json", "get", "leases"});
  const auto after = Parse({"get", "leases", "-o", "yaml", "--node", "/b"});

  ASSERT_TRUE(before && after);
  EXPECT_EQ(before->admin_socket, "/a");
  EXPECT_EQ(before->format, Format::kJson);
  EXPECT_EQ(after->admin_socket, "/b");
  EXPECT_EQ(after->format, Format::kYaml);
  EXPECT_EQ(Parse({"get", "leases"})->admin_socket, "/run/rdma-broker/admin.sock");
}

TEST(ParseOptionsTest, EventsTakesItsRange) {
  const GetOptions events = Command<GetOptions>({"events", "--since", "7", "--limit", "10"});
  EXPECT_EQ(events.kind, Kind::kEvents);
  EXPECT_EQ(events.since, "7");
  EXPECT_EQ(events.limit, "10");
}

TEST(ParseOptionsTest, LeaseCommandsTakeTheirFlags) {
  const auto create =
      Command<CreateOptions>({"lease", "create", "--tenant", "alice", "--qps", "2", "--mr-bytes",
                              "1GiB", "--uid", "1000", "--label", "a=b", "--label", "c=d"});
  EXPECT_EQ(create.lease.tenant, "alice");
  EXPECT_EQ(create.lease.limits[wire::Index(wire::Limit::kQps)], "2");
  EXPECT_EQ(create.lease.limits[wire::Index(wire::Limit::kMrBytes)], "1GiB");
  EXPECT_EQ(create.lease.labels, (std::vector<std::string>{"a=b", "c=d"}));
  EXPECT_EQ(create.workload.uid, "1000");

  const auto patch = Command<PatchOptions>({"lease", "patch", "lease-0", "--rate", "5MiB/s"});
  EXPECT_EQ(patch.id, "lease-0");
  EXPECT_EQ(patch.lease.rate, "5MiB/s");

  EXPECT_EQ(Command<RenewOptions>({"lease", "renew", "lease-0", "--ttl", "5m"}).ttl, "5m");
  EXPECT_EQ(Command<RevokeOptions>({"lease", "revoke", "lease-0", "--grace", "1s"}).grace, "1s");
}

TEST(ParseOptionsTest, DevicesKeepTheirOrderAndNotTheNextWord) {
  const auto patch =
      Command<PatchOptions>({"lease", "patch", "--device", "b", "--device", "a", "lease-0"});
  EXPECT_EQ(patch.lease.devices, (std::vector<std::string>{"b", "a"}));
  EXPECT_EQ(patch.id, "lease-0");
}

TEST(ParseOptionsTest, RunKeepsTheCommandAsItIs) {
  const auto run =
      Command<RunOptions>({"run", "--rate", "20MiB/s", "--rdma-cm", "--", "ib_write_bw", "-d",
                           "rxe0", "--node", "x", "--", "--help"});
  EXPECT_EQ(run.lease.rate, "20MiB/s");
  EXPECT_TRUE(run.rdma_cm);
  EXPECT_FALSE(run.keep_devices);
  EXPECT_EQ(run.command,
            (std::vector<std::string>{"ib_write_bw", "-d", "rxe0", "--node", "x", "--", "--help"}));
}

TEST(ParseOptionsTest, RefusesWhatIsNotACommandLine) {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{},
                                             {"fly"},
                                             {"get"},
                                             {"get", "planes"},
                                             {"get", "leases", "a", "b"},
                                             {"get", "node", "n1"},
                                             {"get", "leases", "--rate", "1"},
                                             {"get", "leases", "-o", "xml"},
                                             {"get", "leases", "--", "x"},
                                             {"describe", "lease"},
                                             {"describe", "processes"},
                                             {"lease"},
                                             {"lease", "create"},
                                             {"lease", "create", "--tenant"},
                                             {"lease", "patch"},
                                             {"lease", "patch", "lease-0", "--tenant", "b"},
                                             {"lease", "revoke"},
                                             {"run"},
                                             {"run", "--"},
                                             {"run", "id"},
                                             {"run", "--quick", "--", "id"}}) {
    const auto options = Parse(arguments);
    ASSERT_FALSE(options) << ::testing::PrintToString(arguments);
    EXPECT_EQ(options.error().code, ErrorCode::kInvalid);
  }
}

TEST(ParseOptionsTest, HelpIsOfTheCommandThatWasNamed) {
  EXPECT_THAT(Parse({"--help"})->text, HasSubstr("describe"));
  EXPECT_THAT(Parse({"run", "--help"})->text, HasSubstr("--lease-token"));
  for (const wire::LimitRow& row : wire::kLimitTable) {
    EXPECT_THAT(Parse({"lease", "create", "--help"})->text, HasSubstr(FlagOf(row)));
  }
  EXPECT_THAT(Parse({"--version"})->text, HasSubstr("rdmactl "));
}

}  // namespace
}  // namespace rb::cli
