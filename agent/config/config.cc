#include "agent/config/config.h"

#include <charconv>
#include <utility>

namespace rb::agent {
namespace {

constexpr std::uint32_t kDscpMax = 63;
constexpr std::uint32_t kSlMax = 15;

ClassFacts MakeClass(std::uint32_t dscp, std::uint32_t sl) {
  return {.traffic_class = static_cast<std::uint8_t>(dscp << 2),
          .sl = static_cast<std::uint8_t>(sl)};
}

Result<std::uint32_t> FieldOf(const ConfigRecord& record, const std::string& field,
                              std::uint32_t max) {
  const auto found = record.fields.find(field);
  if (found == record.fields.end()) {
    return Fail(ErrorCode::kInvalid, "traffic class " + record.name + ": " + field + " is missing");
  }
  std::uint32_t value = 0;
  const std::string& text = found->second;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value > max) {
    return Fail(ErrorCode::kInvalid, "traffic class " + record.name + ": " + field + " is '" +
                                         text + "', allowed is 0 to " + std::to_string(max));
  }
  return value;
}

ConfigSection TrafficClassSection(Config* config) {
  ConfigSection section;
  section.name = "traffic_classes";
  section.help = "Classes that leases may name: the DSCP and service level (sl) of their packets.";
  section.fields = {"dscp", "sl"};
  section.clear = [config] { config->traffic_classes.clear(); };
  section.read = [config](const ConfigRecord& record) -> Result<void> {
    RB_TRY(const std::uint32_t dscp, FieldOf(record, "dscp", kDscpMax));
    RB_TRY(const std::uint32_t sl, FieldOf(record, "sl", kSlMax));
    config->traffic_classes[record.name] = MakeClass(dscp, sl);
    return {};
  };
  section.show = [config] {
    std::vector<ConfigRecord> records;
    for (const auto& [name, facts] : config->traffic_classes) {
      records.push_back({.name = name,
                         .fields = {{"dscp", std::to_string(facts.traffic_class >> 2)},
                                    {"sl", std::to_string(facts.sl)}}});
    }
    return records;
  };
  return section;
}

// One component: the rdma controller is enabled in the mount's root and in this one, no deeper.
Result<void> CgroupName(const std::string& name) {
  const bool fits =
      !name.empty() && name.find('/') == std::string::npos && name != "." && name != "..";
  if (fits) return {};
  return Fail(ErrorCode::kInvalid, "'" + name + "' is not the name of one cgroup");
}

Result<void> AbsolutePath(const std::string& path) {
  if (path.starts_with('/')) return {};
  return Fail(ErrorCode::kInvalid, "'" + path + "' is not an absolute path");
}

}  // namespace

Config::Config()
    : traffic_classes{{"parameter-sync", MakeClass(34, 4)},
                      {"gradient-exchange", MakeClass(26, 3)},
                      {"storage", MakeClass(18, 2)},
                      {"best-effort", MakeClass(0, 0)}} {}

void Describe(Config* config, ConfigSchema* schema) {
  using std::chrono::milliseconds;
  schema->Add("node_name", &config->node_name, "Name of this node; empty: the host's name.");
  schema->Add("run_directory", &config->run_directory,
              "Sockets and policy pages; must lie on tmpfs.", AbsolutePath);
  schema->Add("state_directory", &config->state_directory, "The checkpoint.", AbsolutePath);
  schema->Add("cgroup_mount", &config->cgroup_mount, "Where cgroup2 is mounted.", AbsolutePath);
  schema->Add("cgroup_parent", &config->cgroup_parent, "Leases' cgroups are made below this one.",
              CgroupName);
  schema->Add("metrics_address", &config->metrics_address,
              "Address of /metrics, /healthz and /readyz.");
  schema->Add("metrics_port", &config->metrics_port, "Its port.", {.min = 1, .max = 65535});
  schema->Add("restrict_device_nodes", &config->restrict_device_nodes,
              "Take uverbs, umad and issm nodes away from everybody but root.");
  schema->Add("settle_period", &config->settle_period,
              "Time between looks for files that dead processes left.",
              {.min = milliseconds(10), .max = milliseconds(60'000)});
  schema->Add("flush_time", &config->flush_time,
              "Revoke: time between stopping queue pairs and destroying them.",
              {.min = milliseconds(0), .max = milliseconds(10'000)});
  schema->Add("exit_time", &config->exit_time,
              "Revoke: time for processes to exit by themselves before they are killed.",
              {.min = milliseconds(0), .max = milliseconds(60'000)});
  schema->Add("log_level", &config->log_level, "debug, info, warn, error or off.");
  schema->Add("log_format", &config->log_format, "text or json.");
  schema->AddSection(TrafficClassSection(config));
}

}  // namespace rb::agent
