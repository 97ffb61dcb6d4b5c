#include "common/bare/fd_message.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <cerrno>
#include <cstring>

namespace rb {
namespace {

// Room for one descriptor more than we accept, so that "too many" is seen rather than guessed.
constexpr std::size_t kFdRoom = kMessageFdsMax + 1;

union ControlBuffer {
  cmsghdr align;
  char bytes[CMSG_SPACE(sizeof(int) * kFdRoom)];
};

// Takes ownership of every descriptor in `header`; closes those past kMessageFdsMax.
// Returns false when there were too many.
bool CollectFds(msghdr* header, ReceivedMessage* message) {
  bool fits = (header->msg_flags & MSG_CTRUNC) == 0;
  for (cmsghdr* part = CMSG_FIRSTHDR(header); part != nullptr; part = CMSG_NXTHDR(header, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part) + (i * sizeof(int)), sizeof(int));
      UniqueFd owned(fd);
      if (message->fd_count < kMessageFdsMax) {
        message->fds[message->fd_count++] = std::move(owned);
      } else {
        fits = false;
      }
    }
  }
  return fits;
}

void DropFds(ReceivedMessage* message) {
  for (UniqueFd& fd : message->fds) fd.Reset();
  message->fd_count = 0;
}

}  // namespace

int SendMessage(int socket, const void* data, std::size_t bytes, const int* fds,
                std::size_t fd_count, int flags) {
  if (fd_count > kMessageFdsMax) return EINVAL;
  iovec part{.iov_base = const_cast<void*>(data), .iov_len = bytes};
  ControlBuffer control;
  std::memset(&control, 0, sizeof(control));
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  if (fd_count > 0) {
    header.msg_control = control.bytes;
    header.msg_controllen = CMSG_SPACE(sizeof(int) * fd_count);
    cmsghdr* rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int) * fd_count);
    std::memcpy(CMSG_DATA(rights), fds, sizeof(int) * fd_count);
  }
  while (true) {
    const ssize_t sent = ::sendmsg(socket, &header, flags | MSG_NOSIGNAL);
    if (sent >= 0) return static_cast<std::size_t>(sent) == bytes ? 0 : EMSGSIZE;
    if (errno != EINTR) return errno;
  }
}

int ReceiveMessage(int socket, void* buffer, std::size_t capacity, ReceivedMessage* message,
                   int flags) {
  DropFds(message);
  message->bytes = 0;
  iovec part{.iov_base = buffer, .iov_len = capacity};
  ControlBuffer control;
  std::memset(&control, 0, sizeof(control));
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control.bytes;
  header.msg_controllen = sizeof(control.bytes);
  ssize_t received = -1;
  do {
    received = ::recvmsg(socket, &header, flags | MSG_CMSG_CLOEXEC);
  } while (received < 0 && errno == EINTR);
  if (received < 0) return errno;

  const bool fits = CollectFds(&header, message);
  if (!fits || (header.msg_flags & MSG_TRUNC) != 0) {
    DropFds(message);
    return EMSGSIZE;
  }
  message->bytes = static_cast<std::size_t>(received);
  return 0;
}

}  // namespace rb
