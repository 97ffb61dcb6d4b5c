// The ports through which the agent acts on the kernel, in one bundle that main wires.
#pragma once

#include "agent/attest/process_facts.h"
#include "agent/cgroup/lease_cgroups.h"
#include "agent/control/process_files.h"
#include "agent/rdma/device_opener.h"
#include "agent/rdma/resources.h"
#include "agent/rdma/uverbs_control.h"

namespace rb::agent {

// References outlive everything that holds a Kernel.
struct Kernel {
  LeaseCgroups& cgroups;
  ProcessTable& processes;
  ProcessFiles& files;
  rdma::DeviceOpener& opener;
  rdma::Resources& resources;
  rdma::UverbsControl& uverbs;
};

}  // namespace rb::agent
