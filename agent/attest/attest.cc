#include "agent/attest/attest.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "common/runtime/process.h"

namespace rb::agent {
namespace {

bool HasExited(int pidfd) {
  pollfd wait{.fd = pidfd, .events = POLLIN, .revents = 0};
  return ::poll(&wait, 1, 0) == 1;
}

tl::unexpected<Error> PeerGone() {
  return Fail(ErrorCode::kNotFound, "peer: exited while it was being identified", "peer_gone");
}

}  // namespace

Result<Attested> AttestPeer(int socket, const ProcessTable& processes) {
  ucred peer{};
  socklen_t length = sizeof(peer);
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) {
    return FailErrno("getsockopt SO_PEERCRED", errno);
  }
  if (peer.pid <= 0) {
    return Fail(ErrorCode::kDenied, "peer: in a pid namespace that the agent cannot see",
                "foreign_pid_namespace");
  }
  auto pidfd = OpenPidfd(peer.pid);
  if (!pidfd) return PeerGone();
  auto facts = processes.Read(peer.pid);
  if (!facts)
    return facts.error().code == ErrorCode::kNotFound ? PeerGone() : tl::unexpected(facts.error());

  // If the process that the pidfd holds is alive now, the pid was its own all along.
  if (HasExited(pidfd->get())) return PeerGone();
  return Attested{
      .facts = std::move(*facts), .uid = peer.uid, .gid = peer.gid, .pidfd = std::move(*pidfd)};
}

Result<ProcessFacts> Reattest(const Attested& attested, const ProcessTable& processes) {
  auto facts = processes.Read(attested.facts.pid);
  if (!facts || HasExited(attested.pidfd.get()) ||
      facts->start_time_ticks != attested.facts.start_time_ticks) {
    return PeerGone();
  }
  return facts;
}

}  // namespace rb::agent
