#include "agent/rest/node_metrics.h"

#include "agent/lease/usage.h"
#include "agent/rest/node_bodies.h"
#include "api/wire/limit_table.h"

namespace rb::agent {
namespace {

constexpr double kNanosecondsPerSecond = 1e9;

}  // namespace

void NodeMetrics::Collect(MetricsWriter& out) {
  CollectLeases(out);
  CollectTraffic(out);
  CollectDevices(out);
}

void NodeMetrics::CollectLeases(MetricsWriter& out) {
  std::map<rest::Phase, double> phases;
  for (const LeaseRecord* lease : leases_.All()) {
    ++phases[lease->phase];
    if (lease->live() && lease->counters) CollectLease(*lease, out);
  }
  for (const rest::Phase phase : kPhases) {
    out.Gauge("rdma_agent_leases",
              "Leases on this node by phase; ended ones while they are remembered.",
              {{"phase", std::string(Name(phase))}}, phases[phase]);
  }
}

void NodeMetrics::CollectLease(const LeaseRecord& lease, MetricsWriter& out) {
  const rest::LeaseUsage usage = ReadUsage(*lease.counters->page());
  for (const wire::LimitRow& row : wire::kLimitTable) {
    const std::size_t i = wire::Index(row.limit);
    const MetricLabels labels{
        {"tenant", lease.spec.tenant}, {"lease", lease.id()}, {"limit", row.name}};
    out.Gauge("rdma_agent_limit_used", "What a lease holds of a limit, as its processes count it.",
              labels, static_cast<double>(usage.used[i]));
    out.Gauge("rdma_agent_limit_max", "What a lease may hold of a limit.", labels,
              static_cast<double>(lease.spec.limits.values[i]));
  }
  const auto kernel = cgroups_.Current(lease.cgroup);
  if (!kernel) return;
  for (const auto& [device, current] : *kernel) {
    const MetricLabels labels{
        {"tenant", lease.spec.tenant}, {"lease", lease.id()}, {"device", device}};
    out.Gauge("rdma_agent_kernel_contexts",
              "Device contexts that the kernel charges to the lease's cgroup.", labels,
              static_cast<double>(current.hca_handles));
    out.Gauge("rdma_agent_kernel_objects",
              "RDMA objects of all types that the kernel charges to the lease's cgroup.", labels,
              static_cast<double>(current.hca_objects));
  }
}

// Counters of live leases on top of what ended ones left, so that a tenant's series never falls.
void NodeMetrics::CollectTraffic(MetricsWriter& out) {
  TrafficTotals totals = ended_;
  for (const LeaseRecord* lease : leases_.All()) {
    if (lease->live() && lease->counters) totals.Add(*lease);
  }
  for (const auto& [key, usage] : totals.by_tenant_and_device()) {
    const MetricLabels base{{"tenant", key.first}, {"device", key.second}};
    for (std::size_t i = 0; i < wire::kOpCount; ++i) {
      MetricLabels labels = base;
      labels.emplace_back("op", wire::kOpNames[i]);
      labels.emplace_back("source", "shim");
      out.Counter("rdma_agent_bytes_total", "Payload bytes that tenants posted.", labels,
                  static_cast<double>(usage.ops[i].bytes));
      out.Counter("rdma_agent_messages_total", "Work requests that tenants posted.", labels,
                  static_cast<double>(usage.ops[i].messages));
    }
    out.Counter("rdma_agent_throttled_seconds_total",
                "Time that posts waited for the lease's rate.", base,
                static_cast<double>(usage.throttled_ns) / kNanosecondsPerSecond);
  }
}

void NodeMetrics::CollectDevices(MetricsWriter& out) {
  for (const rdma::Device& device : node_.inventory().devices) {
    const auto counts = resources_.Summary(device.name);
    for (const auto& [type, count] : counts.value_or(rdma::ResourceCounts{})) {
      out.Gauge("rdma_agent_device_objects",
                "Objects on the device as the kernel counts them, all users together.",
                {{"device", device.name}, {"type", type}}, static_cast<double>(count));
    }
    for (const rdma::Port& port : device.ports) {
      out.Gauge("rdma_agent_port_up", "1 when the port is active.",
                {{"device", device.name}, {"port", std::to_string(port.number)}},
                port.state == rdma::PortState::kActive ? 1 : 0);
    }
  }
}

}  // namespace rb::agent
