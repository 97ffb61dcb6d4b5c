#include "cli/show.h"

#include <chrono>

#include "api/wire/limit_table.h"
#include "cli/quantity.h"
#include "cli/table.h"
#include "common/runtime/config.h"

namespace rb::cli {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

std::string Number(std::uint64_t value) { return std::to_string(value); }

std::string Seconds(std::uint64_t seconds) { return FormatDuration(std::chrono::seconds(seconds)); }

std::string DeviceNames(const rest::Lease& lease) {
  std::vector<std::string> names;
  names.reserve(lease.status.devices.size());
  for (const rest::LeasedDevice& device : lease.status.devices) names.push_back(device.name);
  return Join(names);
}

std::string Labels(const rest::Labels& labels) {
  std::vector<std::string> items;
  for (const auto& [key, value] : labels) items.push_back(key + "=" + value);
  return Join(items);
}

std::string Describe(const rest::Workload& workload) {
  if (!workload.cgroup.empty()) return "cgroup " + workload.cgroup;
  std::string uid = workload.uid ? "uid " + Number(*workload.uid) : "";
  if (!workload.token) return uid;
  return uid.empty() ? "token" : "token, " + uid;
}

std::string UsedOf(const rest::Lease& lease, wire::Limit limit) {
  return Number(lease.status.usage.used.at(wire::Index(limit))) + "/" +
         Number(lease.spec.limits[limit]);
}

std::string LevelOf(const rest::Lease& lease, const std::string& limit) {
  const auto found = lease.status.enforcement.find(limit);
  return found == lease.status.enforcement.end() ? "" : found->second;
}

std::string LimitTable(const rest::Lease& lease) {
  Table table({"LIMIT", "USED", "ALLOWED", "DENIED", "ENFORCED BY"});
  for (const wire::LimitRow& row : wire::kLimitTable) {
    const std::size_t i = wire::Index(row.limit);
    const bool bytes = row.limit == wire::Limit::kMrBytes;
    const auto shown = [bytes](std::uint64_t n) { return bytes ? FormatBytes(n) : Number(n); };
    table.Add({row.name, shown(lease.status.usage.used.at(i)), shown(lease.spec.limits[row.limit]),
               Number(lease.status.usage.denials.at(i)), LevelOf(lease, row.name)});
  }
  return table.Render();
}

std::string OpTable(const rest::LeaseUsage& usage) {
  if (usage.ops.empty()) return "";
  Table table({"OPERATION", "MESSAGES", "BYTES"});
  for (const auto& [name, op] : usage.ops) {
    table.Add({name, Number(op.messages), Number(op.bytes)});
  }
  return "\n" + table.Render();
}

Pairs MapPairs(const std::map<std::string, std::uint64_t>& map) {
  Pairs pairs;
  for (const auto& [name, value] : map) pairs.emplace_back("  " + name, Number(value));
  return pairs;
}

std::string PortTable(const std::vector<rest::Port>& ports) {
  Table table({"PORT", "STATE", "LINK", "RATE", "MTU", "NETDEV", "GIDS"});
  for (const rest::Port& port : ports) {
    std::vector<std::string> gids;
    gids.reserve(port.gids.size());
    for (const rest::Gid& gid : port.gids) gids.push_back(Number(gid.index) + "=" + gid.gid);
    table.Add({Number(port.number), port.state, port.link_layer,
               FormatBitRate(port.rate_bits_per_second), Number(port.active_mtu_bytes), port.netdev,
               Join(gids)});
  }
  return table.Render();
}

}  // namespace

std::string ShowLeases(const std::vector<rest::Lease>& leases) {
  Table table(
      {"NAME", "TENANT", "PHASE", "DEVICES", "QPS", "RATE", "CLASS", "PROCESSES", "EXPIRES IN"});
  for (const rest::Lease& lease : leases) {
    const bool ended = rest::IsEnded(lease.status.phase);
    table.Add({lease.metadata.name, lease.spec.tenant, std::string(Name(lease.status.phase)),
               DeviceNames(lease), UsedOf(lease, wire::Limit::kQps),
               FormatBitRate(lease.spec.rate.max_bits_per_second), lease.spec.traffic_class,
               Number(lease.status.usage.processes),
               ended ? "" : Seconds(lease.status.expires_in_seconds)});
  }
  return table.Render();
}

std::string ShowDevices(const std::vector<rest::Device>& devices) {
  Table table({"NAME", "DRIVER", "PORT", "STATE", "LINK", "RATE", "MTU", "NETDEV", "NUMA", "PCI",
               "LEASES"});
  for (const rest::Device& device : devices) {
    for (const rest::Port& port : device.ports) {
      table.Add({device.name, device.driver, Number(port.number), port.state, port.link_layer,
                 FormatBitRate(port.rate_bits_per_second), Number(port.active_mtu_bytes),
                 port.netdev, device.numa_node ? std::to_string(*device.numa_node) : "",
                 device.pci_address, Number(device.leases.size())});
    }
  }
  return table.Render();
}

std::string ShowNode(const rest::Node& node) {
  Pairs pairs{{"Name", node.name},
              {"Version", node.version},
              {"Kernel", node.kernel},
              {"Boot id", node.boot_id},
              {"RDMA namespaces", node.netns_mode},
              {"Devices", Number(node.device_count)},
              {"Active leases", Number(node.active_leases)},
              {"Agent up for", Seconds(node.uptime_seconds)}};
  for (const std::string& warning : node.warnings) pairs.emplace_back("Warning", warning);
  std::string out = RenderPairs(pairs);
  if (!node.traffic_classes.empty()) {
    Table classes({"TRAFFIC CLASS", "DSCP", "SL"});
    for (const rest::TrafficClass& one : node.traffic_classes) {
      classes.Add({one.name, Number(one.dscp), Number(one.sl)});
    }
    out += '\n' + classes.Render();
  }
  if (!node.enforcement.empty()) {
    Table levels({"LIMIT", "ENFORCED BY"});
    for (const auto& [limit, level] : node.enforcement) levels.Add({limit, level});
    out += '\n' + levels.Render();
  }
  return out;
}

std::string ShowProcesses(const std::vector<rest::Process>& processes) {
  Table table({"PID", "UID", "COMMAND", "TENANT", "LEASE", "FILES", "SINCE"});
  for (const rest::Process& process : processes) {
    table.Add({Number(process.pid), Number(process.uid), process.command, process.tenant,
               process.lease, Number(process.open_files), process.attached_at});
  }
  return table.Render();
}

std::string ShowEvents(const std::vector<rest::Event>& events) {
  Table table({"SEQUENCE", "TIME", "TYPE", "REASON", "TENANT", "LEASE", "MESSAGE"});
  for (const rest::Event& event : events) {
    table.Add({Number(event.sequence), event.time, event.type, event.reason, event.tenant,
               event.lease, event.message});
  }
  return table.Render();
}

std::string DescribeLease(const rest::Lease& lease) {
  const rest::LeaseSpec& spec = lease.spec;
  const rest::LeaseStatus& status = lease.status;
  Pairs pairs{{"Name", lease.metadata.name},
              {"Tenant", spec.tenant},
              {"Phase", std::string(Name(status.phase))},
              {"Revision", Number(lease.metadata.revision)},
              {"Created at", lease.metadata.created_at},
              {"Labels", Labels(lease.metadata.labels)},
              {"Workload", Describe(spec.workload)},
              {"Devices", DeviceNames(lease)},
              {"Traffic class", spec.traffic_class},
              {"Rate", FormatBitRate(spec.rate.max_bits_per_second)},
              {"Burst", FormatBytes(spec.rate.burst_bytes)},
              {"Rate enforced by", LevelOf(lease, "rate")},
              {"Throttled for",
               FormatDuration(std::chrono::milliseconds(status.usage.throttled_ns / 1'000'000))},
              {"Processes", Number(status.usage.processes)},
              {"Counted by", status.usage.source},
              {"Time to live", Seconds(spec.ttl_seconds)},
              {"Expires in", Seconds(status.expires_in_seconds)}};
  for (const rest::Condition& condition : status.conditions) {
    pairs.emplace_back("Condition",
                       condition.type + " since " + condition.since + ": " + condition.message);
  }
  return RenderPairs(pairs) + '\n' + LimitTable(lease) + OpTable(status.usage);
}

std::string DescribeDevice(const rest::Device& device) {
  const Pairs pairs{{"Name", device.name},
                    {"Driver", device.driver},
                    {"Node GUID", device.node_guid},
                    {"Firmware", device.firmware},
                    {"Character device", device.uverbs},
                    {"PCI address", device.pci_address},
                    {"NUMA node", device.numa_node ? std::to_string(*device.numa_node) : ""},
                    {"Capabilities", Join(device.capabilities)},
                    {"Leases", Join(device.leases)}};
  std::string out = RenderPairs(pairs) + '\n' + PortTable(device.ports);
  if (!device.kernel_objects.empty()) {
    out += "\nObjects now:\n" + RenderPairs(MapPairs(device.kernel_objects));
  }
  if (!device.limits.empty())
    out += "\nThe device's own limits:\n" + RenderPairs(MapPairs(device.limits));
  return out;
}

std::string ShowCreated(const rest::Lease& lease) {
  return RenderPairs({{"Name", lease.metadata.name},
                      {"Tenant", lease.spec.tenant},
                      {"Phase", std::string(Name(lease.status.phase))},
                      {"Devices", DeviceNames(lease)},
                      {"Expires in", Seconds(lease.status.expires_in_seconds)},
                      {"Token", lease.status.token}});
}

}  // namespace rb::cli
