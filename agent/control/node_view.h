// The node as the agent last saw it: devices, traffic classes, what this kernel can hold.
//
// Keeps the inventory fresh (Refresh() on hot-plug) and turns it into what admission and the API
// need. Runs on: loop; reading the inventory goes to the pool.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/control/revoker.h"
#include "agent/lease/admission.h"
#include "agent/lease/event_log.h"
#include "agent/rdma/inventory.h"
#include "common/runtime/blocking_pool.h"
#include "common/runtime/task.h"

namespace rb::agent {

struct NodeTraits {
  std::string name;
  std::map<std::string, ClassFacts> classes;
  bool has_rdma_controller = false;
  std::vector<std::string> reserved_cgroups = {};  // NodeFacts::reserved_cgroups
};

class NodeView {
 public:
  NodeView(BlockingPool& pool, rdma::InventoryReader& reader, EventLog& events, NodeTraits traits)
      : pool_(pool), reader_(reader), events_(events), traits_(std::move(traits)) {}

  // Reads the inventory again and adds an event for every device that came, went or changed its
  // port state.
  Task<Result<void>> Refresh();

  const rdma::Inventory& inventory() const { return inventory_; }
  const NodeTraits& traits() const { return traits_; }

  NodeFacts Facts() const;

  // What a revoke needs to know of the lease's devices; devices that are unplugged are left out.
  std::vector<RevokeDevice> DevicesOf(const std::vector<std::string>& names) const;

 private:
  BlockingPool& pool_;
  rdma::InventoryReader& reader_;
  EventLog& events_;
  NodeTraits traits_;
  rdma::Inventory inventory_;
};

// Pure: what changed between two inventories, as events without sequence and time.
std::vector<rest::Event> InventoryEvents(const rdma::Inventory& before,
                                         const rdma::Inventory& after);

}  // namespace rb::agent
