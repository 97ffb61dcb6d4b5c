// From a lease to the page that its processes read. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "agent/lease/admission.h"
#include "api/rest/lease.h"
#include "api/wire/pages.h"

namespace rb::agent {

// `generation` is left 0: the writer of the page counts it.
wire::PolicyPage BuildPolicy(const rest::LeaseSpec& spec, const Grant& grant,
                             wire::PolicyState state);

// What holds each limit of this lease on this node: "kernel" or "shim" for every row of the table,
// "rate" and "traffic_class". Without an rdma cgroup controller nothing but revocation is the
// kernel's.
std::map<std::string, std::string> Enforcement(const rest::LeaseSpec& spec,
                                               bool has_rdma_controller);

}  // namespace rb::agent
