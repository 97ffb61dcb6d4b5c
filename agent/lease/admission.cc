#include "agent/lease/admission.h"

#include <algorithm>

#include "api/wire/limit_table.h"
#include "api/wire/limits.h"

namespace rb::agent {
namespace {

tl::unexpected<Error> Semantic(std::string message) {
  return Fail(ErrorCode::kInvalid, std::move(message), "semantic");
}

const DeviceFacts* Find(const NodeFacts& node, const std::string& name) {
  const auto found = std::ranges::find(node.devices, name, &DeviceFacts::name);
  return found == node.devices.end() ? nullptr : &*found;
}

std::string NamesOf(const NodeFacts& node) {
  std::string names;
  for (const DeviceFacts& device : node.devices) {
    if (device.usable) names += (names.empty() ? "" : ", ") + device.name;
  }
  return names.empty() ? "none" : names;
}

bool Holds(const Neighbour& neighbour, const std::string& device) {
  return std::ranges::find(neighbour.devices, device) != neighbour.devices.end();
}

std::size_t LeasesOn(const std::vector<Neighbour>& neighbours, const std::string& device) {
  return static_cast<std::size_t>(std::ranges::count_if(
      neighbours, [&](const Neighbour& neighbour) { return Holds(neighbour, device); }));
}

// The limits are per lease and any device may be used for all of them, so each must hold them all.
Result<void> CheckCapacity(const DeviceFacts& device, const rest::Limits& asked,
                           const std::vector<Neighbour>& neighbours) {
  for (const wire::LimitRow& row : wire::kLimitTable) {
    const auto capacity = device.capacity.find(row.name);
    if (capacity == device.capacity.end()) continue;
    // Taken from what is left rather than added up: the sum of byte limits can wrap.
    std::uint64_t left = capacity->second;
    for (const Neighbour& neighbour : neighbours) {
      if (Holds(neighbour, device.name)) left -= std::min(left, neighbour.limits[row.limit]);
    }
    if (asked[row.limit] > left) {
      return Fail(ErrorCode::kExhausted,
                  std::string("limit ") + row.name + " on " + device.name + ": asked " +
                      std::to_string(asked[row.limit]) + ", capacity " +
                      std::to_string(capacity->second) + ", granted to others " +
                      std::to_string(capacity->second - left) + ", at most " +
                      std::to_string(left) + " would fit",
                  std::string("capacity_") + row.name);
    }
  }
  return {};
}

Result<void> CheckRate(const DeviceFacts& device, const rest::Rate& rate) {
  if (device.port_rate_bits_per_second == 0 ||
      rate.max_bits_per_second <= device.port_rate_bits_per_second) {
    return {};
  }
  return Semantic("rate.max_bits_per_second: asked " + std::to_string(rate.max_bits_per_second) +
                  ", the port of " + device.name + " has " +
                  std::to_string(device.port_rate_bits_per_second));
}

Result<std::vector<std::string>> ChooseNamed(const rest::DeviceWish& wish, const NodeFacts& node) {
  for (const std::string& name : wish.names) {
    const DeviceFacts* device = Find(node, name);
    if (device == nullptr || !device->usable) {
      return Fail(ErrorCode::kNotFound,
                  "device " + name + ": not on this node; it has " + NamesOf(node), "no_device");
    }
    if (!wish.link_layer.empty() && device->link_layer != wish.link_layer) {
      return Semantic("device " + name + ": its link layer is " + device->link_layer +
                      ", the selector asks " + wish.link_layer);
    }
  }
  return wish.names;
}

Result<std::vector<std::string>> ChooseAny(const rest::LeaseSpec& spec, const NodeFacts& node,
                                           const std::vector<Neighbour>& neighbours) {
  std::vector<const DeviceFacts*> fitting;
  for (const DeviceFacts& device : node.devices) {
    if (!device.usable) continue;
    if (!spec.devices.link_layer.empty() && device.link_layer != spec.devices.link_layer) continue;
    fitting.push_back(&device);
  }
  if (fitting.size() < spec.devices.count) {
    return Fail(ErrorCode::kNotFound,
                "devices: asked " + std::to_string(spec.devices.count) + ", " +
                    std::to_string(fitting.size()) + " fit; this node has " + NamesOf(node),
                "no_device");
  }
  // Fewest leases first: neighbours share as little as they can. Names break ties, so that the same
  // request on the same node gives the same answer.
  std::ranges::sort(fitting, [&](const DeviceFacts* a, const DeviceFacts* b) {
    const std::size_t on_a = LeasesOn(neighbours, a->name);
    const std::size_t on_b = LeasesOn(neighbours, b->name);
    return on_a != on_b ? on_a < on_b : a->name < b->name;
  });
  std::vector<std::string> chosen;
  for (std::size_t i = 0; i < spec.devices.count; ++i) chosen.push_back(fitting[i]->name);
  std::ranges::sort(chosen);
  return chosen;
}

Result<std::optional<ClassFacts>> ClassOf(const rest::LeaseSpec& spec, const NodeFacts& node) {
  if (spec.traffic_class.empty()) return std::nullopt;
  const auto found = node.classes.find(spec.traffic_class);
  if (found != node.classes.end()) return found->second;
  std::string names;
  for (const auto& [name, facts] : node.classes) names += (names.empty() ? "" : ", ") + name;
  return Semantic("traffic_class " + spec.traffic_class + ": not on this node; it has " + names);
}

bool Overlap(std::string_view a, std::string_view b) {
  return IsWithinCgroup(a, b) || IsWithinCgroup(b, a);
}

Result<void> CheckWorkload(const rest::Workload& workload, const NodeFacts& node,
                           const std::vector<Neighbour>& neighbours) {
  for (const std::string& reserved : node.reserved_cgroups) {
    if (Overlap(workload.cgroup, reserved)) {
      return Semantic("workload: cgroup " + workload.cgroup + " overlaps " + reserved +
                      ", which is the agent's");
    }
  }
  for (const Neighbour& neighbour : neighbours) {
    const bool same_uid = !workload.token && workload.uid && !neighbour.workload.token &&
                          workload.uid == neighbour.workload.uid;
    if (same_uid) {
      return Fail(
          ErrorCode::kConflict,
          "workload: " + neighbour.id + " is for the same uid " + std::to_string(*workload.uid),
          "workload_taken");
    }
    if (Overlap(workload.cgroup, neighbour.workload.cgroup)) {
      return Fail(ErrorCode::kConflict,
                  "workload: cgroup " + workload.cgroup + " overlaps " + neighbour.workload.cgroup +
                      " of " + neighbour.id,
                  "workload_taken");
    }
  }
  return {};
}

Result<void> CheckDevices(const rest::LeaseSpec& spec, const std::vector<std::string>& devices,
                          const NodeFacts& node, const std::vector<Neighbour>& neighbours) {
  for (const std::string& name : devices) {
    const DeviceFacts* device = Find(node, name);
    if (device == nullptr) continue;  // unplugged: a change of the lease does not bring it back
    RB_TRY_VOID(CheckRate(*device, spec.rate));
    RB_TRY_VOID(CheckCapacity(*device, spec.limits, neighbours));
  }
  return {};
}

// The name of the first field that differs and may not, or "".
std::string FixedFieldThatDiffers(const rest::LeaseSpec& a, const rest::LeaseSpec& b) {
  if (a.tenant != b.tenant) return "tenant";
  if (a.node != b.node) return "node";
  if (a.devices != b.devices) return "devices";
  if (a.workload != b.workload) return "workload";
  if (a.devx != b.devx) return "devx";
  if (a.raw != b.raw) return "raw";
  if (a.unknown != b.unknown) return "unknown";
  if (a.accounting != b.accounting) return "accounting";
  if (a.pacing != b.pacing) return "pacing";
  if (a.ttl_seconds != b.ttl_seconds) return "ttl_seconds";
  return {};
}

}  // namespace

bool IsWithinCgroup(std::string_view path, std::string_view cgroup) {
  if (cgroup.empty() || !path.starts_with(cgroup)) return false;
  return path.size() == cgroup.size() || path[cgroup.size()] == '/';
}

Result<Grant> Admit(const rest::LeaseSpec& spec, const NodeFacts& node,
                    const std::vector<Neighbour>& neighbours) {
  if (!spec.node.empty() && spec.node != node.name) {
    return Semantic("node " + spec.node + ": this node is " + node.name);
  }
  RB_TRY_VOID(CheckWorkload(spec.workload, node, neighbours));
  Grant grant;
  RB_TRY(grant.traffic_class, ClassOf(spec, node));
  RB_TRY(grant.devices, spec.devices.names.empty() ? ChooseAny(spec, node, neighbours)
                                                   : ChooseNamed(spec.devices, node));
  RB_TRY_VOID(CheckDevices(spec, grant.devices, node, neighbours));
  return grant;
}

Result<Grant> AdmitChange(const rest::LeaseSpec& before, const rest::LeaseSpec& after,
                          const std::vector<std::string>& devices, const NodeFacts& node,
                          const std::vector<Neighbour>& neighbours) {
  const std::string fixed = FixedFieldThatDiffers(before, after);
  if (!fixed.empty()) {
    return Fail(ErrorCode::kInvalid,
                "spec." + fixed + ": fixed when the lease is created; make a new lease" +
                    (fixed == "ttl_seconds" ? ", or renew this one" : ""),
                "immutable");
  }
  // post_send is wrapped when a context is opened: a rate cannot come to processes that run
  // already.
  const bool paced_before = before.rate.max_bits_per_second != 0;
  if (!paced_before && !before.accounting && after.rate.max_bits_per_second != 0) {
    return Fail(ErrorCode::kInvalid,
                "spec.rate: the lease was created without rate and accounting, so its processes "
                "run without the hook that paces; make a new lease",
                "immutable");
  }
  Grant grant{.devices = devices, .traffic_class = {}};
  RB_TRY(grant.traffic_class, ClassOf(after, node));
  RB_TRY_VOID(CheckDevices(after, devices, node, neighbours));
  return grant;
}

}  // namespace rb::agent
