// The other resources of a node's REST API: the node, its devices, processes and events.
// Values and their JSON form. Threading: values and pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"

namespace rb::rest {

struct TrafficClass {
  std::string name;
  std::uint32_t dscp = 0;  // 0..63
  std::uint32_t sl = 0;    // 0..15
  bool operator==(const TrafficClass&) const = default;
};

// What this node can and cannot hold, and why not: `enforcement` maps a limit to its level.
struct Node {
  std::string name;
  std::string version;
  std::string boot_id;
  std::string kernel;
  std::string netns_mode;  // of the RDMA subsystem: "shared" | "exclusive"
  std::uint64_t device_count = 0;
  std::uint64_t active_leases = 0;
  std::uint64_t uptime_seconds = 0;  // of the agent
  std::vector<TrafficClass> traffic_classes;
  std::map<std::string, std::string> enforcement;
  std::vector<std::string>
      warnings;  // e.g. "no rdma cgroup controller: contexts held by the shim only"
  bool operator==(const Node&) const = default;
};

struct Gid {
  std::uint32_t index = 0;
  std::string gid;
  std::string type;  // "RoCE v2"
  std::string netdev;
  bool operator==(const Gid&) const = default;
};

struct Port {
  std::uint32_t number = 1;
  std::string state;       // "active"
  std::string link_layer;  // "ethernet"
  std::uint64_t rate_bits_per_second = 0;
  std::uint32_t active_mtu_bytes = 0;
  std::uint32_t max_mtu_bytes = 0;
  std::string netdev;
  std::vector<Gid> gids;
  bool operator==(const Port&) const = default;
};

struct Device {
  std::string name;
  std::string uverbs;
  std::string driver;
  std::string node_guid;
  std::string firmware;
  std::string pci_address;  // empty: a software device
  std::optional<std::int32_t> numa_node;
  std::map<std::string, std::uint64_t> limits;  // the NIC's own: "max_qp", "max_mr", …
  std::vector<std::string> capabilities;
  std::vector<Port> ports;
  std::map<std::string, std::uint64_t> kernel_objects;  // counted by the kernel now: "qp", "mr", …
  std::vector<std::string> leases;                      // ids that hold the device
  bool operator==(const Device&) const = default;
};

// One process that talks to the agent or holds an open uverbs file of a lease.
struct Process {
  std::uint64_t pid = 0;
  std::uint32_t uid = 0;
  std::string command;
  std::string lease;
  std::string tenant;
  std::uint64_t open_files = 0;
  std::string attached_at;
  bool operator==(const Process&) const = default;
};

struct Event {
  std::uint64_t sequence = 0;
  std::string time;
  std::string type;    // "lease_created", "denied", "lease_revoked", "device_added", …
  std::string reason;  // stable code: "limit_qps", "no_lease", …
  std::string lease;
  std::string tenant;
  std::string message;
  std::map<std::string, std::string> details;  // "limit", "used", "asked", "allowed", "pid", …
  bool operator==(const Event&) const = default;
};

// An RFC 9457 problem: what every refused request answers.
struct Problem {
  unsigned status = 500;
  std::string code;   // stable: "limit_qps", "unknown_field", "not_found", …
  std::string title;  // short, for the code
  std::string detail;
  std::string request_id;
  struct Pointer {
    std::string pointer;
    std::string detail;
    bool operator==(const Pointer&) const = default;
  };
  std::vector<Pointer> errors;
  bool operator==(const Problem&) const = default;
};
inline constexpr std::string_view kProblemContentType = "application/problem+json";

// One table maps errors to statuses (04): kInvalid 400 ("malformed", …) or 422 (reason "semantic"),
// kNotFound 404, …
Problem ToProblem(const Error& error, std::string request_id);
std::string DumpProblem(const Problem& problem);
Result<Problem> ParseProblem(std::string_view json);

std::string DumpNode(const Node& node);
std::string DumpDevice(const Device& device);
std::string DumpDeviceList(const std::vector<Device>& devices);
std::string DumpProcessList(const std::vector<Process>& processes);
std::string DumpEventList(const std::vector<Event>& events);

Result<Node> ParseNode(std::string_view json);
Result<Device> ParseDevice(std::string_view json);
Result<std::vector<Device>> ParseDeviceList(std::string_view json);
Result<std::vector<Process>> ParseProcessList(std::string_view json);
Result<std::vector<Event>> ParseEventList(std::string_view json);

}  // namespace rb::rest
