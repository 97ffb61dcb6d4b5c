#include "agent/lease/policy.h"

#include <algorithm>

#include "api/wire/limit_table.h"

namespace rb::agent {

wire::PolicyPage BuildPolicy(const rest::LeaseSpec& spec, const Grant& grant,
                             wire::PolicyState state) {
  wire::PolicyPage page{};
  page.magic = wire::kPolicyMagic;
  page.version = wire::kPageVersion;
  page.state = static_cast<std::uint32_t>(state);
  for (std::size_t i = 0; i < wire::kLimitCount; ++i) page.limits[i] = spec.limits.values[i];

  const auto set = [&page](bool condition, std::uint32_t flag) {
    if (condition) page.flags |= flag;
  };
  set(spec.accounting, wire::kPolicyAccounting);
  set(spec.unknown == rest::Permission::kDeny, wire::kPolicyDenyUnknown);
  set(spec.raw == rest::Permission::kDeny, wire::kPolicyDenyRaw);
  set(spec.devx == rest::Permission::kDeny, wire::kPolicyDenyDevx);
  if (grant.traffic_class) {
    page.flags |= wire::kPolicyHasClass;
    set(spec.on_foreign_class == rest::ForeignClass::kRefuse, wire::kPolicyRefuseClass);
    page.traffic_class = grant.traffic_class->traffic_class;
    page.sl = grant.traffic_class->sl;
  }
  if (spec.rate.max_bits_per_second != 0 && spec.pacing == rest::Pacing::kBlock) {
    page.flags |= wire::kPolicyPaced;
    for (std::size_t i = 0; i < grant.devices.size(); ++i) {
      page.devices[i] = {
          // Never 0: that would mean "not paced".
          .rate_bytes_per_second = std::max<std::uint64_t>(spec.rate.max_bits_per_second / 8, 1),
          .burst_bytes = spec.rate.burst_bytes};
    }
  }
  return page;
}

std::map<std::string, std::string> Enforcement(const rest::LeaseSpec& spec,
                                               bool has_rdma_controller) {
  std::map<std::string, std::string> levels;
  for (const wire::LimitRow& row : wire::kLimitTable) {
    const bool kernel = row.level == wire::Level::kKernel && has_rdma_controller;
    levels[row.name] = kernel ? "kernel" : "shim";
  }
  if (spec.rate.max_bits_per_second != 0) {
    levels["rate"] = spec.pacing == rest::Pacing::kBlock ? "shim" : "none";
  }
  if (!spec.traffic_class.empty()) levels["traffic_class"] = "shim";
  return levels;
}

}  // namespace rb::agent
