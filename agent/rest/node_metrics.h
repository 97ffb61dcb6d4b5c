// The agent's metrics that describe a state: leases, objects, bytes, kernel counts. Read at each
// scrape. What happens (denials, refusals, opens) is counted where it happens. Names:
// docs/architecture.md. Runs on: loop.
#pragma once

#include <map>
#include <string>

#include "agent/cgroup/lease_cgroups.h"
#include "agent/control/node_view.h"
#include "agent/lease/lease_table.h"
#include "agent/lease/traffic_totals.h"
#include "agent/rdma/resources.h"
#include "common/runtime/metrics.h"

namespace rb::agent {

class NodeMetrics {
 public:
  // `ended` is what leases that have ended left behind; all references outlive this.
  NodeMetrics(NodeView& node, LeaseTable& leases, const TrafficTotals& ended, LeaseCgroups& cgroups,
              rdma::Resources& resources)
      : node_(node), leases_(leases), ended_(ended), cgroups_(cgroups), resources_(resources) {}

  void Collect(MetricsWriter& out);

 private:
  void CollectLeases(MetricsWriter& out);
  void CollectLease(const LeaseRecord& lease, MetricsWriter& out);
  void CollectTraffic(MetricsWriter& out);
  void CollectDevices(MetricsWriter& out);

  NodeView& node_;
  LeaseTable& leases_;
  const TrafficTotals& ended_;
  LeaseCgroups& cgroups_;
  rdma::Resources& resources_;
};

}  // namespace rb::agent
