// Everything that agent/control reaches the kernel through, in memory.
//
// Header-only. Threading: as its parts say.
#pragma once

#include "agent/control/kernel.h"
#include "tests/fakes/fake_lease_cgroups.h"
#include "tests/fakes/fake_processes.h"
#include "tests/fakes/fake_rdma_device_opener.h"
#include "tests/fakes/fake_rdma_inventory.h"
#include "tests/fakes/fake_rdma_resources.h"
#include "tests/fakes/fake_rdma_uverbs_control.h"

namespace rb::agent {

struct FakeKernel {
  FakeProcesses processes;
  FakeLeaseCgroups cgroups{processes};
  rdma::FakeInventory inventory;
  rdma::FakeDeviceOpener opener;
  rdma::FakeResources resources;
  rdma::FakeUverbsControl uverbs;

  // A node with the devices rxe0 and rxe1.
  FakeKernel() {
    for (const std::uint32_t number : {0U, 1U}) {
      const rdma::Device device = rdma::FakeRxeDevice(number);
      inventory.inventory.devices.push_back(device);
      opener.devices.insert(device.name);
      resources.devices[device.name];
    }
  }

  Kernel bundle() { return {cgroups, processes, processes, opener, resources, uverbs}; }
};

}  // namespace rb::agent
