// May this node grant the lease, and with which devices? Pure: specification, devices and the
// leases that exist go in, a grant or a refusal that names the limit comes out.
//
// On one node there is no tenant quota (that is the broker's): the NIC's own limits are the
// capacity. Threading: pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/rest/lease.h"
#include "common/base/result.h"

namespace rb::agent {

// What admission needs to know of a device; made from the inventory by its caller.
struct DeviceFacts {
  std::string name;
  std::string link_layer;                       // of port 1
  std::uint64_t port_rate_bits_per_second = 0;  // of port 1; 0: unknown
  bool usable = false;                          // has a uverbs node
  // The NIC's own limits by the table's names ("qps" -> max_qp); absent: the NIC did not say.
  std::map<std::string, std::uint64_t> capacity;
  bool operator==(const DeviceFacts&) const = default;
};

struct ClassFacts {
  std::uint8_t traffic_class = 0;  // the whole byte: DSCP << 2
  std::uint8_t sl = 0;
  bool operator==(const ClassFacts&) const = default;
};

// A live lease, as far as others must fit beside it.
struct Neighbour {
  std::string id;
  std::vector<std::string> devices;
  rest::Limits limits;
  rest::Workload workload;
};

struct NodeFacts {
  std::string name;
  std::vector<DeviceFacts> devices;
  std::map<std::string, ClassFacts> classes;  // by traffic class name
  // The agent's own and the parent of the cgroups it makes: a lease on one of them, below or around
  // it would end the agent or other leases with its own revoke.
  std::vector<std::string> reserved_cgroups = {};
};

struct Grant {
  std::vector<std::string> devices;
  std::optional<ClassFacts> traffic_class;
  bool operator==(const Grant&) const = default;
};

// Errors: kInvalid reason "semantic": the request can never be granted here (another node's name,
//           no such traffic class, a rate above the port, a named device of another link layer, a
//           cgroup that overlaps a reserved one);
//         kNotFound reason "no_device": a named device is not here, or nothing fits the selector;
//         kExhausted reason "capacity_<limit>": the NIC cannot hold it beside what is granted;
//         kConflict reason "workload_taken": another lease has the same uid, or a cgroup that is
//         the same,
//           inside or around this one (limits and kills of the outer would hit the inner).
Result<Grant> Admit(const rest::LeaseSpec& spec, const NodeFacts& node,
                    const std::vector<Neighbour>& neighbours);

// Is `path` the cgroup `cgroup` or below it? By whole components: "/a/lease-10" is not in
// "/a/lease-1". Nothing is within an empty `cgroup`.
bool IsWithinCgroup(std::string_view path, std::string_view cgroup);

// The change of a running lease: everything but limits, traffic class, on_foreign_class, rate and
// labels is fixed at creation. `neighbours` is without the lease itself; its devices stay. Errors:
// as Admit, and kInvalid reason "immutable" naming the field.
Result<Grant> AdmitChange(const rest::LeaseSpec& before, const rest::LeaseSpec& after,
                          const std::vector<std::string>& devices, const NodeFacts& node,
                          const std::vector<Neighbour>& neighbours);

}  // namespace rb::agent
