#include "agent/config/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "tests/support/temp_tree.h"

namespace rb::agent {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

class AgentConfigTest : public ::testing::Test {
 protected:
  AgentConfigTest() { Describe(&config_, &schema_); }

  Result<ConfigOutcome> Load(const std::vector<std::string>& flags,
                             const std::map<std::string, std::string>& environment = {}) {
    return schema_.Load(flags, environment);
  }

  Result<ConfigOutcome> LoadFile(const std::string& yaml) {
    tree_.Write("agent.yaml", yaml);
    return Load({"--config", tree_.Path("agent.yaml")});
  }

  test::TempTree tree_;
  Config config_;
  ConfigSchema schema_{"rdma-agent", "RDMA_AGENT", "0.1.0"};
};

TEST_F(AgentConfigTest, TheDefaultsAreThoseOfTheDesign) {
  ASSERT_TRUE(Load({}));

  EXPECT_EQ(config_.tenant_socket(), "/run/rdma-broker/tenant/agent.sock");
  EXPECT_EQ(config_.admin_socket(), "/run/rdma-broker/admin.sock");
  EXPECT_EQ(config_.policy_directory(), "/run/rdma-broker/policy");
  EXPECT_EQ(config_.checkpoint_path(), "/var/lib/rdma-agent/checkpoint.json");
  EXPECT_EQ(config_.metrics_port, 7472);
  EXPECT_EQ(config_.flush_time, milliseconds(50));
  EXPECT_TRUE(config_.restrict_device_nodes);
  EXPECT_EQ(config_.traffic_classes.at("parameter-sync").traffic_class, 34 << 2);
}

TEST_F(AgentConfigTest, EveryOptionIsReadFromTheFile) {
  const auto loaded = LoadFile(
      "node_name: n1\n"
      "run_directory: /tmp/run\n"
      "state_directory: /tmp/state\n"
      "cgroup_mount: /sys/fs/cgroup/unified\n"
      "cgroup_parent: leases\n"
      "metrics_address: 0.0.0.0\n"
      "metrics_port: 9000\n"
      "restrict_device_nodes: false\n"
      "settle_period: 2s\n"
      "flush_time: 10ms\n"
      "exit_time: 1s\n"
      "log_level: warn\n"
      "log_format: json\n");

  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(config_.node_name, "n1");
  EXPECT_EQ(config_.run_directory, "/tmp/run");
  EXPECT_EQ(config_.state_directory, "/tmp/state");
  EXPECT_EQ(config_.cgroup_mount, "/sys/fs/cgroup/unified");
  EXPECT_EQ(config_.cgroup_parent, "leases");
  EXPECT_EQ(config_.metrics_address, "0.0.0.0");
  EXPECT_EQ(config_.metrics_port, 9000);
  EXPECT_FALSE(config_.restrict_device_nodes);
  EXPECT_EQ(config_.settle_period, milliseconds(2000));
  EXPECT_EQ(config_.flush_time, milliseconds(10));
  EXPECT_EQ(config_.exit_time, milliseconds(1000));
  EXPECT_EQ(config_.log_level, "warn");
  EXPECT_EQ(config_.log_format, "json");
}

TEST_F(AgentConfigTest, FlagsWinOverTheEnvironment) {
  ASSERT_TRUE(Load({"--metrics-port", "9001"},
                   {{"RDMA_AGENT_METRICS_PORT", "9000"}, {"RDMA_AGENT_NODE_NAME", "n2"}}));

  EXPECT_EQ(config_.metrics_port, 9001);
  EXPECT_EQ(config_.node_name, "n2");
}

TEST_F(AgentConfigTest, WhatIsOutOfRangeIsRefused) {
  EXPECT_FALSE(Load({"--metrics-port", "0"}));
  EXPECT_FALSE(Load({"--metrics-port", "65536"}));
  EXPECT_FALSE(Load({"--settle-period", "9ms"}));
  EXPECT_FALSE(Load({"--settle-period", "61s"}));
  EXPECT_FALSE(Load({"--flush-time", "11s"}));
  EXPECT_FALSE(Load({"--exit-time", "61s"}));
  EXPECT_TRUE(Load({"--settle-period", "10ms", "--flush-time", "0ms"}));
}

TEST_F(AgentConfigTest, DirectoriesAreAbsolute) {
  for (const char* flag : {"--run-directory", "--state-directory", "--cgroup-mount"}) {
    const auto loaded = Load({flag, "relative"});

    ASSERT_FALSE(loaded) << flag;
    EXPECT_THAT(loaded.error().message, HasSubstr("absolute"));
  }
}

TEST_F(AgentConfigTest, TheParentOfLeasesIsOneCgroupBelowTheMount) {
  for (const char* name : {"", ".", "..", "a/b", "/a"}) {
    EXPECT_FALSE(Load({"--cgroup-parent", name})) << name;
  }
  EXPECT_TRUE(Load({"--cgroup-parent", "rdma.slice"}));
}

TEST_F(AgentConfigTest, TrafficClassesOfTheFileReplaceTheShippedOnes) {
  const auto loaded = LoadFile(
      "traffic_classes:\n"
      "  gold: {dscp: 63, sl: 15}\n"
      "  bronze: {dscp: 0, sl: 0}\n");

  ASSERT_TRUE(loaded) << loaded.error().message;
  ASSERT_EQ(config_.traffic_classes.size(), 2U);
  const ClassFacts gold{.traffic_class = 63 << 2, .sl = 15};
  EXPECT_EQ(config_.traffic_classes.at("gold"), gold);
}

TEST_F(AgentConfigTest, ATrafficClassOnePastItsFieldsIsRefusedByName) {
  const auto dscp = LoadFile("traffic_classes:\n  gold: {dscp: 64, sl: 0}\n");
  const auto sl = LoadFile("traffic_classes:\n  gold: {dscp: 0, sl: 16}\n");
  const auto missing = LoadFile("traffic_classes:\n  gold: {dscp: 1}\n");
  const auto word = LoadFile("traffic_classes:\n  gold: {dscp: af41, sl: 0}\n");
  const auto negative = LoadFile("traffic_classes:\n  gold: {dscp: -1, sl: 0}\n");

  ASSERT_FALSE(dscp);
  EXPECT_THAT(dscp.error().message, HasSubstr("gold: dscp is '64', allowed is 0 to 63"));
  ASSERT_FALSE(sl);
  EXPECT_THAT(sl.error().message, HasSubstr("gold: sl is '16', allowed is 0 to 15"));
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, HasSubstr("gold: sl is missing"));
  EXPECT_FALSE(word);
  EXPECT_FALSE(negative);
}

TEST_F(AgentConfigTest, WhatItPrintsGivesTheSameAgain) {
  ASSERT_TRUE(Load({"--node-name", "n1", "--settle-period", "250ms"}));
  const std::string printed = schema_.EffectiveYaml();
  Config again;
  ConfigSchema schema("rdma-agent", "RDMA_AGENT", "0.1.0");
  Describe(&again, &schema);
  tree_.Write("printed.yaml", printed);

  const std::vector<std::string> flags{"--config", tree_.Path("printed.yaml")};
  const auto loaded = schema.Load(flags, {});

  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(schema.EffectiveYaml(), printed);
  EXPECT_EQ(again.traffic_classes, config_.traffic_classes);
}

}  // namespace
}  // namespace rb::agent
