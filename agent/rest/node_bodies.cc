#include "agent/rest/node_bodies.h"

#include <algorithm>
#include <utility>

#include "agent/lease/policy.h"

namespace rb::agent {
namespace {

rest::Port PortBody(const rdma::Port& port) {
  rest::Port body{.number = port.number,
                  .state = std::string(rdma::Name(port.state)),
                  .link_layer = std::string(rdma::Name(port.link_layer)),
                  .rate_bits_per_second = port.rate_bits_per_second,
                  .active_mtu_bytes = port.active_mtu_bytes,
                  .max_mtu_bytes = port.max_mtu_bytes,
                  .netdev = port.netdev,
                  .gids = {}};
  for (const rdma::Gid& gid : port.gids) {
    body.gids.push_back(
        {.index = gid.index, .gid = gid.gid, .type = gid.type, .netdev = gid.netdev});
  }
  return body;
}

std::map<std::string, std::uint64_t> LimitsBody(const rdma::DeviceLimits& limits) {
  return {{"max_qp", limits.max_qp},
          {"max_qp_wr", limits.max_qp_wr},
          {"max_sge", limits.max_sge},
          {"max_cq", limits.max_cq},
          {"max_cqe", limits.max_cqe},
          {"max_mr", limits.max_mr},
          {"max_mr_size_bytes", limits.max_mr_size_bytes},
          {"max_pd", limits.max_pd},
          {"max_srq", limits.max_srq},
          {"max_srq_wr", limits.max_srq_wr},
          {"max_ah", limits.max_ah},
          {"max_mw", limits.max_mw}};
}

std::vector<std::string> Warnings(const NodeView& node) {
  std::vector<std::string> warnings;
  if (!node.traits().has_rdma_controller) {
    warnings.emplace_back(
        "no rdma cgroup controller: contexts are bounded by the agent and the shim only, and a "
        "revoke "
        "cannot stop creation before it destroys");
  }
  if (node.inventory().netns_mode == rdma::NetnsMode::kExclusive) {
    warnings.emplace_back(
        "rdma system is in exclusive mode: tenants in other network namespaces see no device; use "
        "'rdma system set netns shared'");
  }
  return warnings;
}

}  // namespace

rest::Node NodeBody(const NodeView& node, const HostFacts& host, std::size_t active_leases,
                    std::uint64_t uptime_seconds) {
  rest::Node body{.name = node.traits().name,
                  .version = host.version,
                  .boot_id = host.boot_id,
                  .kernel = host.kernel_release,
                  .netns_mode = std::string(rdma::Name(node.inventory().netns_mode)),
                  .device_count = node.inventory().devices.size(),
                  .active_leases = active_leases,
                  .uptime_seconds = uptime_seconds,
                  .traffic_classes = {},
                  .enforcement = {},
                  .warnings = Warnings(node)};
  for (const auto& [name, facts] : node.traits().classes) {
    body.traffic_classes.push_back({.name = name,
                                    .dscp = static_cast<std::uint32_t>(facts.traffic_class >> 2),
                                    .sl = facts.sl});
  }
  // What a lease with everything set would get here.
  rest::LeaseSpec everything;
  everything.rate.max_bits_per_second = 1;
  everything.traffic_class = "any";
  body.enforcement = Enforcement(everything, node.traits().has_rdma_controller);
  return body;
}

rest::Device DeviceBody(const rdma::Device& device, const rdma::ResourceCounts& counts,
                        const LeaseTable& leases) {
  rest::Device body{.name = device.name,
                    .uverbs = device.uverbs,
                    .driver = device.driver,
                    .node_guid = device.node_guid,
                    .firmware = device.firmware,
                    .pci_address = device.pci_address,
                    .numa_node = device.numa_node,
                    .limits = {},
                    .capabilities = device.capabilities,
                    .ports = {},
                    .kernel_objects = counts,
                    .leases = {}};
  if (device.limits) body.limits = LimitsBody(*device.limits);
  for (const rdma::Port& port : device.ports) body.ports.push_back(PortBody(port));
  for (const LeaseRecord* lease : leases.All()) {
    if (lease->live() &&
        std::ranges::find(lease->grant.devices, device.name) != lease->grant.devices.end()) {
      body.leases.push_back(lease->id());
    }
  }
  return body;
}

rest::Process ProcessBody(const Attachment& attachment, const LeaseTable& leases) {
  rest::Process body{.pid = static_cast<std::uint64_t>(attachment.pid),
                     .uid = attachment.uid,
                     .command = attachment.command,
                     .lease = attachment.lease,
                     .tenant = {},
                     .open_files = 0,
                     .attached_at = attachment.attached_at};
  const LeaseRecord* lease = leases.Find(attachment.lease);
  if (lease == nullptr) return body;
  body.tenant = lease->spec.tenant;
  body.open_files = static_cast<std::uint64_t>(
      std::ranges::count(lease->slots, attachment.pid, &SlotNote::opener));
  return body;
}

}  // namespace rb::agent
