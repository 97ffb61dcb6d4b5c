// Decides whether the lease's policy lets a call through, before anything is charged. Pure.
//
// Counting is not decided here but in ledger.h; the errno of each refusal is the one that a full
// or forbidding NIC would give, so that applications take the path they already have.
//
// Threading: stateless.
#pragma once

#include "api/wire/pages.h"
#include "shim/uverbs/decode.h"
#include "shim/uverbs/rewrite.h"

namespace rb::shim {

ClassRule ClassRuleOf(const wire::PolicyPage& policy);

// Returns 0 or what the call is refused with:
//   EACCES      the lease is revoked (only destroying and polling remain), is draining and this
//               makes an object, or another traffic class was asked and the lease refuses that;
//   EPERM       raw packets or flow rules, when the lease denies them;
//   EOPNOTSUPP  DEVX, or a verb that nobody knows, when the lease denies those.
int Judge(const Call& call, const wire::PolicyPage& policy);

// True when the call asks mlx5 for DEVX in its context and the lease denies that.
bool MustStripDevx(const Call& call, const wire::PolicyPage& policy);

}  // namespace rb::shim
