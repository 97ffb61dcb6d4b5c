#include "agent/lease/traffic_totals.h"

namespace rb::agent {

void TrafficTotals::Add(const LeaseRecord& lease) {
  const std::vector<std::string>& devices = lease.grant.devices;
  const auto usage = ReadDeviceUsage(*lease.counters->page(), devices.size());
  for (std::size_t i = 0; i < devices.size(); ++i) {
    DeviceUsage& total = totals_[{lease.spec.tenant, devices[i]}];
    for (std::size_t op = 0; op < wire::kOpCount; ++op) {
      total.ops[op].messages += usage[i].ops[op].messages;
      total.ops[op].bytes += usage[i].ops[op].bytes;
    }
    total.throttled_ns += usage[i].throttled_ns;
  }
}

}  // namespace rb::agent
