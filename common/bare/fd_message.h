// Sends and receives one SEQPACKET (or datagram) message with file descriptors (SCM_RIGHTS).
//
// The only place that calls sendmsg/recvmsg. What it guarantees:
//   * received descriptors are close-on-exec and never lost: what the caller did not ask for is
//   closed;
//   * a message larger than the buffer, or with more descriptors than allowed, is refused whole.
//
// Shim-safe: no exceptions, no allocation, errno style. Threading: stateless.
// Source: unix(7), cmsg(3).
#pragma once

#include <cstddef>

#include "common/bare/unique_fd.h"

namespace rb {

// A receiver accepts at most this many descriptors in one message.
inline constexpr std::size_t kMessageFdsMax = 4;

struct ReceivedMessage {
  std::size_t bytes = 0;  // 0: the peer closed its end
  std::size_t fd_count = 0;
  UniqueFd fds[kMessageFdsMax];  // NOLINT(modernize-avoid-c-arrays): std::array throws in at()
};

// Sends `bytes` bytes and `fd_count` borrowed descriptors as one message. Never raises SIGPIPE.
// Returns 0 or an errno value; EINTR is retried. `flags` are extra MSG_* bits (MSG_DONTWAIT).
int SendMessage(int socket, const void* data, std::size_t bytes, const int* fds,
                std::size_t fd_count, int flags);

// Receives one message into `buffer`. Returns 0 or an errno value:
//   EMSGSIZE  the message did not fit, or brought more than kMessageFdsMax descriptors (all
//   closed); EAGAIN    nothing there (MSG_DONTWAIT or SO_RCVTIMEO).
int ReceiveMessage(int socket, void* buffer, std::size_t capacity, ReceivedMessage* message,
                   int flags);

}  // namespace rb
