// Traffic by tenant and device, summed over leases. A value; the counters behind it are the shim's.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "agent/lease/lease_table.h"
#include "agent/lease/usage.h"

namespace rb::agent {

class TrafficTotals {
 public:
  // Adds what the lease's counters page says now. REQUIRES: lease.counters.
  void Add(const LeaseRecord& lease);

  const std::map<std::pair<std::string, std::string>, DeviceUsage>& by_tenant_and_device() const {
    return totals_;
  }

 private:
  std::map<std::pair<std::string, std::string>, DeviceUsage> totals_;
};

}  // namespace rb::agent
