// ENTER on the agent's tenant socket: puts the calling process into a lease's cgroup.
//
// The frames are in api/wire/frames.h. Threading: stateless; blocks up to wire::kCallTimeoutMs.
#pragma once

#include <string>

#include "common/base/result.h"

namespace rb::cli {

// Returns the lease's id once the calling process, and every child it will have, is inside.
// Errors: kUnavailable, no agent at `socket_path`; kTimeout; kCorrupt, an answer that is none;
//         otherwise what the agent said, with its reason ("no_lease", …).
Result<std::string> EnterLease(const std::string& socket_path, const std::string& token);

}  // namespace rb::cli
