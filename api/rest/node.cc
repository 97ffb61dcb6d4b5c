#include "api/rest/node.h"

#include "api/rest/json.h"
#include "api/rest/reader.h"
#include "api/rest/writer.h"

namespace rb::rest {
namespace {

using internal::Dump;
using internal::kAnswerBytesMax;
using internal::ListFields;
using internal::Read;

constexpr std::size_t kListMax = 1'000'000;
constexpr std::size_t kSmallMax = 4096;

struct TrafficClassFields {
  template <class Io, class T>
  void operator()(Io& io, T& traffic_class) const {
    io.Required("name");
    io.Text("name", traffic_class.name);
    io.Integer("dscp", traffic_class.dscp, {.min = 0, .max = 63});
    io.Integer("sl", traffic_class.sl, {.min = 0, .max = 15});
  }
};

struct NodeFields {
  template <class Io, class T>
  void operator()(Io& io, T& node) const {
    io.Required("name");
    io.Text("name", node.name);
    io.Text("version", node.version);
    io.Text("boot_id", node.boot_id);
    io.Text("kernel", node.kernel);
    io.Text("netns_mode", node.netns_mode);
    io.Integer("device_count", node.device_count);
    io.Integer("active_leases", node.active_leases);
    io.Integer("uptime_seconds", node.uptime_seconds);
    io.List("traffic_classes", node.traffic_classes, kSmallMax, TrafficClassFields{});
    io.TextMap("enforcement", node.enforcement, kSmallMax);
    io.TextList("warnings", node.warnings, kSmallMax);
  }
};

struct GidFields {
  template <class Io, class T>
  void operator()(Io& io, T& gid) const {
    io.Integer("index", gid.index);
    io.Text("gid", gid.gid);
    io.OptionalText("type", gid.type);
    io.OptionalText("netdev", gid.netdev);
  }
};

struct PortFields {
  template <class Io, class T>
  void operator()(Io& io, T& port) const {
    io.Required("number");
    io.Integer("number", port.number);
    io.Text("state", port.state);
    io.Text("link_layer", port.link_layer);
    io.Integer("rate_bits_per_second", port.rate_bits_per_second);
    io.Integer("active_mtu_bytes", port.active_mtu_bytes);
    io.Integer("max_mtu_bytes", port.max_mtu_bytes);
    io.OptionalText("netdev", port.netdev);
    io.List("gids", port.gids, kSmallMax, GidFields{});
  }
};

struct DeviceFields {
  template <class Io, class T>
  void operator()(Io& io, T& device) const {
    io.Required("name");
    io.Text("name", device.name);
    io.Text("uverbs", device.uverbs);
    io.Text("driver", device.driver);
    io.Text("node_guid", device.node_guid);
    io.OptionalText("firmware", device.firmware);
    io.OptionalText("pci_address", device.pci_address);
    io.MaybeSigned("numa_node", device.numa_node);
    io.IntegerMap("limits", device.limits, kSmallMax);
    io.TextList("capabilities", device.capabilities, kSmallMax);
    io.List("ports", device.ports, kSmallMax, PortFields{});
    io.IntegerMap("kernel_objects", device.kernel_objects, kSmallMax);
    io.TextList("leases", device.leases, kListMax);
  }
};

struct ProcessFields {
  template <class Io, class T>
  void operator()(Io& io, T& process) const {
    io.Required("pid");
    io.Integer("pid", process.pid);
    io.Integer("uid", process.uid);
    io.Text("command", process.command);
    io.Text("lease", process.lease);
    io.Text("tenant", process.tenant);
    io.Integer("open_files", process.open_files);
    io.OptionalText("attached_at", process.attached_at);
  }
};

struct EventFields {
  template <class Io, class T>
  void operator()(Io& io, T& event) const {
    io.Required("sequence");
    io.Integer("sequence", event.sequence);
    io.Text("time", event.time);
    io.Text("type", event.type);
    io.OptionalText("reason", event.reason);
    io.OptionalText("lease", event.lease);
    io.OptionalText("tenant", event.tenant);
    io.Text("message", event.message);
    io.TextMap("details", event.details, kSmallMax);
  }
};

}  // namespace

std::string DumpNode(const Node& node) { return Dump(node, NodeFields{}); }
std::string DumpDevice(const Device& device) { return Dump(device, DeviceFields{}); }
std::string DumpDeviceList(const std::vector<Device>& devices) {
  return Dump(devices, ListFields{DeviceFields{}, kListMax});
}
std::string DumpProcessList(const std::vector<Process>& processes) {
  return Dump(processes, ListFields{ProcessFields{}, kListMax});
}
std::string DumpEventList(const std::vector<Event>& events) {
  return Dump(events, ListFields{EventFields{}, kListMax});
}

Result<Node> ParseNode(std::string_view json) {
  return Read<Node>(json, NodeFields{}, kAnswerBytesMax);
}
Result<Device> ParseDevice(std::string_view json) {
  return Read<Device>(json, DeviceFields{}, kAnswerBytesMax);
}
Result<std::vector<Device>> ParseDeviceList(std::string_view json) {
  return Read<std::vector<Device>>(json, ListFields{DeviceFields{}, kListMax}, kAnswerBytesMax);
}
Result<std::vector<Process>> ParseProcessList(std::string_view json) {
  return Read<std::vector<Process>>(json, ListFields{ProcessFields{}, kListMax}, kAnswerBytesMax);
}
Result<std::vector<Event>> ParseEventList(std::string_view json) {
  return Read<std::vector<Event>>(json, ListFields{EventFields{}, kListMax}, kAnswerBytesMax);
}

}  // namespace rb::rest
