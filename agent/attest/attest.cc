#include "agent/attest/attest.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "common/runtime/process.h"

namespace rb::agent {
namespace {

tl::unexpected<Error> PeerGone() {
  return Fail(ErrorCode::kNotFound, "peer: exited while it was being identified", "peer_gone");
}

// The process that connected (Linux 6.5), or the one that has its pid now.
Result<UniqueFd> PidfdOfPeer(int socket, pid_t pid) {
  constexpr int kPeerPidfd = 77;  // SO_PEERPIDFD, younger than the oldest headers we build with
  int fd = -1;
  socklen_t length = sizeof(fd);
  if (::getsockopt(socket, SOL_SOCKET, kPeerPidfd, &fd, &length) == 0) return UniqueFd(fd);
  if (errno != ENOPROTOOPT) return FailErrno("getsockopt SO_PEERPIDFD", errno);
  return OpenPidfd(pid);
}

}  // namespace

bool HasExited(int pidfd) {
  pollfd wait{.fd = pidfd, .events = POLLIN, .revents = 0};
  return ::poll(&wait, 1, 0) == 1;
}

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
  auto pidfd = PidfdOfPeer(socket, peer.pid);
  if (!pidfd) return PeerGone();
  auto facts = processes.Read(peer.pid);
  if (!facts)
    return facts.error().code == ErrorCode::kNotFound ? PeerGone() : tl::unexpected(facts.error());

  // The facts are those of the process that the pidfd holds if that is alive now.
  if (HasExited(pidfd->get())) return PeerGone();
  // Whether it is the one that connected is another question where the pidfd is not the socket's
  // own: who connects, passes the socket on and exits could wait for another tenant's process to
  // get its pid. That one has another user.
  if (facts->effective_uid && *facts->effective_uid != peer.uid) return PeerGone();
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
