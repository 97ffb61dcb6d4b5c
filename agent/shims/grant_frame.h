// From the agent's values to the frames that a process reads. Pure.
#pragma once

#include <cstdint>

#include "agent/lease/lease_table.h"
#include "agent/rdma/inventory.h"
#include "api/wire/frames.h"
#include "common/base/result.h"

namespace rb::agent {

// Devices keep their places (the index into the pages); one that is unplugged has an empty node
// name.
wire::GrantReply MakeGrant(const LeaseRecord& lease, const rdma::Inventory& inventory,
                           std::uint32_t sequence);

// The errno that the verbs call should fail with, the stable reason, and the text (cut when too
// long).
wire::ErrorReply MakeErrorFrame(const Error& error, std::uint32_t sequence);

}  // namespace rb::agent
