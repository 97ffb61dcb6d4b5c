// Keeps the view of the node fresh while devices come, go and change.
//
// Runs on: loop. Must outlive the loop's last turn.
#pragma once

#include "agent/control/node_view.h"
#include "agent/rdma/device_nodes.h"
#include "agent/rdma/events.h"
#include "common/runtime/fd_watch.h"
#include "common/runtime/loop.h"

namespace rb::agent {

class Hotplug {
 public:
  // `nodes` may be null: device nodes are then left as they are.
  Hotplug(Loop& loop, BlockingPool& pool, rdma::InventoryEvents& source, NodeView& node,
          rdma::DeviceNodes* nodes)
      : loop_(loop),
        pool_(pool),
        source_(source),
        node_(node),
        nodes_(nodes),
        watch_(loop, source.fd()) {}

  // Takes the nodes away, reads the inventory once, then follows events. The first read is done
  // when it returns.
  Task<void> Start();

 private:
  Task<void> Follow();
  Task<void> Update();

  Loop& loop_;
  BlockingPool& pool_;
  rdma::InventoryEvents& source_;
  NodeView& node_;
  rdma::DeviceNodes* nodes_;
  FdWatch watch_;
};

}  // namespace rb::agent
