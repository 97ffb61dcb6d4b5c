// Takes away what a tenant's process must not have. Each call changes the calling process for good,
// so it is made in the child, between fork and exec, in the order below.
//
// Threading: REQUIRES a single-threaded process. Source: mount_namespaces(7), capabilities(7).
#pragma once

#include <sys/types.h>

#include "common/base/result.h"

namespace rb::cli {

// A mount namespace of its own with an empty, read-only /dev/infiniband; with rdma_cm in it when
// asked. Later mounts of the host still arrive, its own never leave. Needs root.
Result<void> HideDevices(bool keep_rdma_cm);

// Becomes this user and group with no supplementary groups, no capabilities and an empty bounding
// set, so that no program it runs can regain one. Needs root.
Result<void> BecomeUser(uid_t uid, gid_t gid);

// No exec grants anything any more (set-user-ID files, file capabilities). Anybody may.
Result<void> ForbidNewPrivileges();

// The kernel kills this process when the one that forked it dies. REQUIRES: after BecomeUser(),
// which would clear it. Errors: kNotFound, `parent` is gone already.
Result<void> DieWithParent(pid_t parent);

}  // namespace rb::cli
