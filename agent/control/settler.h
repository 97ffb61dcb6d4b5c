// Keeps a lease's books true: gives back what dead files held, and reports refusals.
//
// Runs on: loop; looking at the kernel goes to the pool.
#pragma once

#include <set>
#include <string>

#include "agent/control/kernel.h"
#include "agent/control/node_view.h"
#include "agent/lease/event_log.h"
#include "agent/lease/lease_table.h"
#include "common/runtime/async_event.h"
#include "common/runtime/blocking_pool.h"
#include "common/runtime/metrics.h"
#include "common/runtime/task.h"

namespace rb::agent {

class Settler {
 public:
  Settler(BlockingPool& pool, Kernel kernel, NodeView& node, LeaseTable& leases, EventLog& events,
          CounterFamily& denials)
      : pool_(pool),
        kernel_(kernel),
        node_(node),
        leases_(leases),
        events_(events),
        denials_(denials),
        settled_(pool.loop()) {}

  // Frees the slots whose files are gone. When the same lease is being settled already, returns at
  // once.
  Task<void> Settle(std::string lease);

  // Returns when nobody is settling the lease.
  Task<void> WaitForOther(std::string lease);

  // Turns refusals that processes counted since the last call into events and metrics. Cheap:
  // memory only.
  void ReportDenials();
  void ReportDenials(LeaseRecord& lease);

  // Adds one refusal by the agent itself to the lease's page, as if a process had counted it.
  static void CountRefusal(LeaseRecord& lease, wire::Limit limit, std::uint64_t used, pid_t pid);

 private:
  BlockingPool& pool_;
  Kernel kernel_;
  NodeView& node_;
  LeaseTable& leases_;
  EventLog& events_;
  CounterFamily& denials_;
  std::set<std::string> settling_;
  AsyncEvent settled_;
};

}  // namespace rb::agent
