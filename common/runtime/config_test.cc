#include "common/runtime/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temp_tree.h"

namespace rb {
namespace {

using test::TempTree;
using ::testing::HasSubstr;
using Environment = std::map<std::string, std::string>;

struct Config {
  std::string listen_address = "127.0.0.1";
  std::uint16_t port = 7472;
  int priority = -1;
  bool fence = false;
  std::chrono::milliseconds audit_period{1000};
  std::uint64_t mr_bytes_max = std::uint64_t{64} << 20;
  std::vector<std::string> devices = {"rxe0"};
  std::vector<ConfigRecord> classes = {{.name = "default", .fields = {{"dscp", "0"}}}};
};

Result<void> NotEmpty(const std::string& value) {
  if (value.empty()) return Fail(ErrorCode::kInvalid, "must not be empty");
  return {};
}

Result<void> AddClass(Config* config, const ConfigRecord& record) {
  if (!record.fields.contains("dscp")) return Fail(ErrorCode::kInvalid, "dscp is missing");
  config->classes.push_back(record);
  return {};
}

class ConfigTest : public ::testing::Test {
 protected:
  ConfigTest() : schema_("rdma-agent", "RDMA_AGENT", "0.1.0") {
    schema_.Add("listen_address", &config_.listen_address, "Where metrics are.", NotEmpty);
    schema_.Add("port", &config_.port, "The port.", {.min = 1});
    schema_.Add("priority", &config_.priority, "Any integer.");
    schema_.Add("fence", &config_.fence, "Keep others out.");
    schema_.Add("audit_period", &config_.audit_period, "Time between audits.",
                {.min = std::chrono::milliseconds(100), .max = std::chrono::minutes(1)});
    schema_.AddBytes("mr_bytes_max", &config_.mr_bytes_max, "Most bytes.",
                     {.min = 4096, .max = std::uint64_t{1} << 40});
    schema_.Add("devices", &config_.devices, "Managed devices.", NotEmpty);
    schema_.AddSection({.name = "traffic_classes",
                        .help = "Name to DSCP and SL.",
                        .fields = {"dscp", "sl"},
                        .clear = [this] { config_.classes.clear(); },
                        .read = [this](const ConfigRecord& r) { return AddClass(&config_, r); },
                        .show = [this] { return config_.classes; }});
  }

  Result<ConfigOutcome> Load(const std::vector<std::string>& arguments,
                             const Environment& environment = {}) {
    return schema_.Load(arguments, environment);
  }

  // Loads `yaml` from a file; returns the error's message with the path shortened to "F".
  std::string LoadFile(const std::string& yaml) {
    tree_.Write("agent.yaml", yaml);
    const std::string path = tree_.Path("agent.yaml");
    const auto outcome = Load({"--config", path});
    if (outcome) return "ok";
    std::string message = outcome.error().message;
    const std::size_t at = message.find(path);
    return at == std::string::npos ? message : message.replace(at, path.size(), "F");
  }

  TempTree tree_;
  Config config_;
  ConfigSchema schema_;
};

TEST_F(ConfigTest, WithoutAnythingTheDefaultsStay) {
  ASSERT_TRUE(Load({}));

  EXPECT_EQ(config_.listen_address, "127.0.0.1");
  EXPECT_EQ(config_.audit_period, std::chrono::seconds(1));
}

TEST_F(ConfigTest, ReadsEveryTypeFromTheFile) {
  ASSERT_EQ(LoadFile("listen_address: \"::\"\nport: 80\npriority: -5\nfence: true\n"
                     "audit_period: 250ms\nmr_bytes_max: 2GiB\ndevices: [mlx5_0, mlx5_1]\n"
                     "traffic_classes:\n  gold: {dscp: 26, sl: 3}\n  bulk: {dscp: 8}\n"),
            "ok");

  EXPECT_EQ(config_.listen_address, "::");
  EXPECT_EQ(config_.port, 80);
  EXPECT_EQ(config_.priority, -5);
  EXPECT_TRUE(config_.fence);
  EXPECT_EQ(config_.audit_period, std::chrono::milliseconds(250));
  EXPECT_EQ(config_.mr_bytes_max, std::uint64_t{2} << 30);
  EXPECT_EQ(config_.devices, (std::vector<std::string>{"mlx5_0", "mlx5_1"}));
  EXPECT_EQ(config_.classes,
            (std::vector<ConfigRecord>{{.name = "gold", .fields = {{"dscp", "26"}, {"sl", "3"}}},
                                       {.name = "bulk", .fields = {{"dscp", "8"}}}}));
}

TEST_F(ConfigTest, TheLaterLayerWins) {
  tree_.Write("agent.yaml", "port: 1\npriority: 1\nfence: true\n");
  const std::string path = tree_.Path("agent.yaml");

  ASSERT_TRUE(Load({"--priority", "3", "--config=" + path},
                   {{"RDMA_AGENT_PRIORITY", "2"}, {"RDMA_AGENT_FENCE", "false"}}));

  EXPECT_EQ(config_.port, 1);
  EXPECT_EQ(config_.priority, 3);
  EXPECT_FALSE(config_.fence);
}

TEST_F(ConfigTest, TheFileCanBeNamedByAVariableAndAFlagWins) {
  tree_.Write("a.yaml", "port: 1\n");
  tree_.Write("b.yaml", "port: 2\n");
  const Environment environment{{"RDMA_AGENT_CONFIG", tree_.Path("a.yaml")}};

  ASSERT_TRUE(Load({}, environment));
  EXPECT_EQ(config_.port, 1);

  ASSERT_TRUE(Load({"--config", tree_.Path("b.yaml")}, environment));
  EXPECT_EQ(config_.port, 2);
}

TEST_F(ConfigTest, FlagsTakeDashesUnderscoresAndEquals) {
  ASSERT_TRUE(Load({"--listen-address=10.0.0.1", "--audit_period", "5s", "--fence"}));

  EXPECT_EQ(config_.listen_address, "10.0.0.1");
  EXPECT_EQ(config_.audit_period, std::chrono::seconds(5));
  EXPECT_TRUE(config_.fence);
  ASSERT_TRUE(Load({"--fence=false"}));
  EXPECT_FALSE(config_.fence);
}

TEST_F(ConfigTest, ListsAreSeparatedByCommasOutsideTheFile) {
  ASSERT_TRUE(Load({"--devices=mlx5_0,mlx5_1"}));
  EXPECT_EQ(config_.devices, (std::vector<std::string>{"mlx5_0", "mlx5_1"}));

  ASSERT_TRUE(Load({}, {{"RDMA_AGENT_DEVICES", ""}}));
  EXPECT_TRUE(config_.devices.empty());
}

TEST_F(ConfigTest, UnknownVariablesWithThePrefixAreIgnored) {
  EXPECT_TRUE(Load({}, {{"RDMA_AGENT_SOCKET", "/x"}, {"RDMA_AGENT_SERVICE_HOST", "10.0.0.1"}}));
}

TEST_F(ConfigTest, UnknownKeysNameTheLineAndWhatIsAllowed) {
  EXPECT_EQ(LoadFile("port: 1\nprot: 2\n"),
            "F:2: unknown key prot: allowed are listen_address, port, priority, fence, "
            "audit_period, mr_bytes_max, devices, traffic_classes");
}

TEST_F(ConfigTest, UnknownFlagsAndStrayArgumentsAreRefused) {
  EXPECT_EQ(Load({"--prot=1"}).error().message, "unknown flag --prot: see rdma-agent --help");
  EXPECT_EQ(Load({"stray"}).error().message, "unknown flag stray: see rdma-agent --help");
  EXPECT_EQ(Load({"-p"}).error().message, "unknown flag -p: see rdma-agent --help");
  EXPECT_EQ(Load({"--port"}).error().message, "--port: needs a value");
}

TEST_F(ConfigTest, WrongValuesNameTheirSourceAndWhatIsAllowed) {
  EXPECT_EQ(LoadFile("\nport: many\n"), "F:2: port: \"many\" is not allowed: integer 1 to 65535");
  EXPECT_EQ(Load({}, {{"RDMA_AGENT_FENCE", "yes"}}).error().message,
            "RDMA_AGENT_FENCE: \"yes\" is not true or false");
  EXPECT_EQ(Load({"--audit-period=5"}).error().message,
            "--audit-period: \"5\" is not a duration like 250us, 50ms, 5s, 2m, 1h or 7d");
  EXPECT_EQ(Load({"--mr_bytes_max=1Gi"}).error().message,
            "--mr-bytes-max: \"1Gi\" is not a size like 4096, 64KiB, 2GiB or 10MB");
  EXPECT_EQ(Load({"--listen-address="}).error().message, "--listen-address: must not be empty");
}

TEST_F(ConfigTest, RangesIncludeTheirEnds) {
  EXPECT_TRUE(Load({"--port=1"}));
  EXPECT_TRUE(Load({"--port=65535"}));
  EXPECT_FALSE(Load({"--port=0"}));
  EXPECT_FALSE(Load({"--port=65536"}));
  EXPECT_TRUE(Load({"--audit-period=100ms"}));
  EXPECT_TRUE(Load({"--audit-period=1m"}));
  EXPECT_EQ(Load({"--audit-period=99ms"}).error().message,
            "--audit-period: 99ms is out of range: duration 100ms to 1m");
  EXPECT_FALSE(Load({"--audit-period=60001ms"}));
  EXPECT_TRUE(Load({"--mr-bytes-max=4KiB"}));
  EXPECT_TRUE(Load({"--mr-bytes-max=1TiB"}));
  EXPECT_FALSE(Load({"--mr-bytes-max=4095"}));
  EXPECT_FALSE(Load({"--mr-bytes-max=1099511627777"}));
}

TEST_F(ConfigTest, ADurationFinerThanItsFieldIsRefused) {
  EXPECT_EQ(Load({"--audit-period=100500us"}).error().message,
            "--audit-period: 100500us is finer than 1ms");
}

TEST_F(ConfigTest, WrongShapesInTheFileAreRefused) {
  EXPECT_EQ(LoadFile("port: [1]\n"), "F:1: port needs a single value");
  EXPECT_EQ(LoadFile("port:\n"), "F:1: port needs a single value");
  EXPECT_EQ(LoadFile("devices: mlx5_0\n"), "F:1: devices needs a list");
  EXPECT_EQ(LoadFile("devices: [[a]]\n"), "F:1: an item of devices needs a single value");
  EXPECT_EQ(LoadFile("- port\n"), "F:1: the file needs a map of options");
  EXPECT_EQ(LoadFile("port: 1\nport: 2\n"), "F:2: port is given twice");
  EXPECT_THAT(LoadFile("port: 1\n  bad: [\n"), HasSubstr("F:2: "));
}

TEST_F(ConfigTest, AnEmptyFileIsFine) {
  EXPECT_EQ(LoadFile(""), "ok");
  EXPECT_EQ(LoadFile("# nothing\n"), "ok");
}

TEST_F(ConfigTest, AMissingFileIsNotFound) {
  const auto outcome = Load({"--config", tree_.Path("gone.yaml")});

  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, ErrorCode::kNotFound);
}

TEST_F(ConfigTest, SectionsRefuseWhatTheyDoNotKnow) {
  EXPECT_EQ(LoadFile("traffic_classes: 1\n"), "F:1: traffic_classes needs a map");
  EXPECT_EQ(LoadFile("traffic_classes:\n  gold: 1\n"), "F:2: traffic_classes.gold needs a map");
  EXPECT_EQ(LoadFile("traffic_classes:\n  gold: {dscp: 1, colour: 2}\n"),
            "F:2: unknown key traffic_classes.gold.colour: allowed are dscp, sl");
  EXPECT_EQ(LoadFile("traffic_classes:\n  gold: {sl: 1}\n"),
            "F:2: traffic_classes.gold: dscp is missing");
  EXPECT_EQ(LoadFile("traffic_classes:\n  a: {dscp: 1}\n  a: {dscp: 2}\n"),
            "F:3: traffic_classes.a is given twice");
  EXPECT_EQ(LoadFile("traffic_classes:\n  a: {dscp: 1, dscp: 2}\n"), "F:2: dscp is given twice");
}

TEST_F(ConfigTest, PrintConfigGivesAFileWithTheSameValues) {
  const auto printed = Load({"--print-config", "--devices=a,b", "--listen-address=x\"y"},
                            {{"RDMA_AGENT_PORT", "99"}});
  ASSERT_TRUE(printed);
  EXPECT_TRUE(printed->exit);
  EXPECT_EQ(printed->text,
            "listen_address: \"x\\\"y\"\nport: 99\npriority: -1\nfence: false\n"
            "audit_period: 1s\nmr_bytes_max: 64MiB\ndevices: [\"a\", \"b\"]\n"
            "traffic_classes:\n  \"default\": {dscp: \"0\"}\n");

  config_ = Config();
  ASSERT_EQ(LoadFile(printed->text), "ok");

  EXPECT_EQ(schema_.EffectiveYaml(), printed->text);
}

TEST_F(ConfigTest, HelpAndVersionStopBeforeAnythingIsRead) {
  const auto help = Load({"--help", "--config", "/gone"});
  const auto version = Load({"--version"});

  ASSERT_TRUE(help && version);
  EXPECT_TRUE(help->exit);
  EXPECT_THAT(help->text, HasSubstr("--audit-period  (duration 100ms to 1m)\n"));
  EXPECT_TRUE(version->exit);
  EXPECT_EQ(version->text, "rdma-agent 0.1.0\n");
}

TEST_F(ConfigTest, MarkdownListsEveryOption) {
  const std::string markdown = schema_.Markdown();

  EXPECT_THAT(markdown, HasSubstr("| `audit_period` | `RDMA_AGENT_AUDIT_PERIOD` | `--audit-period` "
                                  "| duration 100ms to 1m | `1s` | Time between audits. |\n"));
  EXPECT_THAT(markdown, HasSubstr("| `traffic_classes` |"));
}

TEST(ConfigDeathTest, AnOptionTwiceIsABug) {
  ConfigSchema schema("p", "P", "1");
  bool flag = false;
  schema.Add("x", &flag, "x");

  EXPECT_DEATH(schema.Add("x", &flag, "x"), "check failed");
  EXPECT_DEATH(schema.Add("help", &flag, "x"), "check failed");
}

TEST(ParseDurationTest, RoundTrips) {
  for (const auto* text : {"0s", "1ns", "250us", "50ms", "5s", "2m", "1h", "7d", "1500ms"}) {
    const auto parsed = ParseDuration(text);
    ASSERT_TRUE(parsed) << text;
    EXPECT_EQ(FormatDuration(*parsed), text);
  }
  EXPECT_EQ(ParseDuration("0"), std::chrono::nanoseconds(0));
  EXPECT_EQ(ParseDuration("60s"), std::chrono::minutes(1));
}

TEST(ParseDurationTest, RefusesOtherTexts) {
  for (const auto* text :
       {"", "5", "-5s", "5 s", "5S", "1.5s", "s", "5sx", "106752d", "99999999999999999999s"}) {
    EXPECT_FALSE(ParseDuration(text)) << text;
  }
}

TEST(ParseBytesTest, KnowsBinaryAndDecimalUnits) {
  EXPECT_EQ(ParseBytes("0"), 0U);
  EXPECT_EQ(ParseBytes("1500"), 1500U);
  EXPECT_EQ(ParseBytes("1500B"), 1500U);
  EXPECT_EQ(ParseBytes("64KiB"), 65536U);
  EXPECT_EQ(ParseBytes("10MB"), 10'000'000U);
  EXPECT_EQ(ParseBytes("18446744073709551615"), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(FormatBytes(65536), "64KiB");
  EXPECT_EQ(FormatBytes(65537), "65537");
}

TEST(ParseBytesTest, RefusesOtherTexts) {
  for (const auto* text :
       {"", "KiB", "-1", "1.5GiB", "1kb", "1 KiB", "18446744073709551616", "16777216TiB"}) {
    EXPECT_FALSE(ParseBytes(text)) << text;
  }
}

}  // namespace
}  // namespace rb
