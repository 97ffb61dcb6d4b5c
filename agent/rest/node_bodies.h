// From the agent's values to the REST resources of a node. Pure.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "agent/control/attachments.h"
#include "agent/control/node_view.h"
#include "agent/lease/lease_table.h"
#include "agent/rdma/inventory.h"
#include "agent/rdma/resources.h"
#include "api/rest/node.h"

namespace rb::agent {

inline constexpr std::array kPhases{
    rest::Phase::kPending, rest::Phase::kActive,  rest::Phase::kDraining, rest::Phase::kReleased,
    rest::Phase::kExpired, rest::Phase::kRevoked, rest::Phase::kFailed};

struct HostFacts {
  std::string version;
  std::string boot_id;
  std::string kernel_release;
};

rest::Node NodeBody(const NodeView& node, const HostFacts& host, std::size_t active_leases,
                    std::uint64_t uptime_seconds);

// `counts` is what the kernel counts on the device now.
rest::Device DeviceBody(const rdma::Device& device, const rdma::ResourceCounts& counts,
                        const LeaseTable& leases);

rest::Process ProcessBody(const Attachment& attachment, const LeaseTable& leases);

}  // namespace rb::agent
