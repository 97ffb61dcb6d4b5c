#include "shim/uverbs/verdict.h"

#include <cerrno>

namespace rb::shim {
namespace {

bool Has(const wire::PolicyPage& policy, std::uint32_t flag) { return (policy.flags & flag) != 0; }

// What remains possible in each state of the lease.
bool StateAllows(const wire::PolicyPage& policy, const VerbRow* row) {
  switch (static_cast<wire::PolicyState>(policy.state)) {
    case wire::PolicyState::kActive:
      return true;
    case wire::PolicyState::kDraining:
      return row == nullptr || row->action != Action::kCreate;
    case wire::PolicyState::kRevoked:
      break;
  }
  return row != nullptr && (row->action == Action::kDestroy || row->action == Action::kPoll);
}

}  // namespace

ClassRule ClassRuleOf(const wire::PolicyPage& policy) {
  return {.set = Has(policy, wire::kPolicyHasClass),
          .refuse = Has(policy, wire::kPolicyRefuseClass),
          .traffic_class = policy.traffic_class,
          .sl = policy.sl};
}

int Judge(const Call& call, const wire::PolicyPage& policy) {
  if (!StateAllows(policy, call.row)) return EACCES;
  if (call.row == nullptr) return Has(policy, wire::kPolicyDenyUnknown) ? EOPNOTSUPP : 0;
  if ((call.row->traits & kTraitDevx) != 0 && Has(policy, wire::kPolicyDenyDevx)) {
    return EOPNOTSUPP;
  }
  if (Has(policy, wire::kPolicyDenyRaw) &&
      ((call.row->traits & kTraitRaw) != 0 || IsRawPacketQp(call))) {
    return EPERM;
  }
  const ClassVerdict verdict =
      ApplyClass(*call.row, call.core_in, ClassRuleOf(policy), /*change=*/false);
  return verdict == ClassVerdict::kRefuse ? EACCES : 0;
}

bool MustStripDevx(const Call& call, const wire::PolicyPage& policy) {
  return Has(policy, wire::kPolicyDenyDevx) && call.header->driver_id == RDMA_DRIVER_MLX5 &&
         call.row != nullptr && call.row->limit == wire::Index(wire::Limit::kContexts) &&
         StripDevx(call.uhw_in, /*change=*/false);
}

}  // namespace rb::shim
