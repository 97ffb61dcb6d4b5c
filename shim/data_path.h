// Puts our functions in front of a provider's post_send and create_qp_ex, for leases that are paced
// or counted. Any other lease keeps every pointer as the provider set it.
//
// Decided when the context is opened: a lease that was neither paced nor counted then stays
// untouched for the life of that context, and a PATCH that turns pacing on reaches contexts opened
// later. (Leases are counted by default, so this concerns only those with accounting off.)
//
// Threading: safe; called by libibverbs while it opens a device.
#pragma once

struct verbs_context;

namespace rb::shim {

// Call after the real verbs_set_ops: it is called twice for each context, first with the library's
// dummies, then with the provider's functions.
void HookContext(verbs_context* context);

}  // namespace rb::shim
