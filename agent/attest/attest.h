// Who is at the other end of a tenant connection.
//
//   SO_PEERCRED -> pidfd -> /proc facts -> "still the same process, still alive?"
//
// The pidfd is taken before the facts are read and checked after: a pid that was reused in between
// cannot inherit the identity. Where the kernel has SO_PEERPIDFD it is that of the process that
// connected; elsewhere a pid reused since then is told by its user, and within one user by nothing.
// Which lease the process belongs to is the lease table's business.
//
// Threading: stateless. Source: socket(7), pidfd_open(2).
#pragma once

#include <sys/types.h>

#include "agent/attest/process_facts.h"
#include "common/bare/unique_fd.h"
#include "common/base/result.h"

namespace rb::agent {

struct Attested {
  ProcessFacts facts;
  uid_t uid = 0;
  gid_t gid = 0;
  UniqueFd pidfd;  // readable once the process has exited
};

// Errors: kDenied with reason "foreign_pid_namespace", the peer has no pid here;
//         kNotFound with reason "peer_gone", it exited or its pid was reused meanwhile.
Result<Attested> AttestPeer(int socket, const ProcessTable& processes);

// True when the process behind the pidfd is no more.
bool HasExited(int pidfd);

// The same question again later: alive, same process, same cgroup? Returns the facts as they are
// now.
Result<ProcessFacts> Reattest(const Attested& attested, const ProcessTable& processes);

}  // namespace rb::agent
