#include <linux/netlink.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <cerrno>

#include "agent/rdma/nldev.h"
#include "common/bare/unique_fd.h"

namespace rb::agent::rdma {
namespace {

// The kernel builds dump parts of at most 32 KiB, and never more than the reader's buffer.
constexpr std::size_t kDatagramBytesMax = std::size_t{64} * 1024;
// A driver that queries its firmware for every row can be slow; a hung one must not hang us.
constexpr timeval kAnswerTimeout{.tv_sec = 5, .tv_usec = 0};

// Every attempt has a socket of its own, so one number is enough.
constexpr std::uint32_t kSequence = 1;

Result<UniqueFd> OpenSocket() {
  UniqueFd fd(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA));
  // A kernel without the RDMA core has no such family.
  if (!fd && (errno == EPROTONOSUPPORT || errno == EAFNOSUPPORT)) {
    return Fail(ErrorCode::kUnsupported, "open rdma netlink: this kernel has none");
  }
  if (!fd) return FailErrno("open rdma netlink", errno);
  if (::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &kAnswerTimeout, sizeof(kAnswerTimeout)) !=
      0) {
    return FailErrno("set rdma netlink timeout", errno);
  }
  return fd;
}

Result<void> Send(int socket, const std::string& bytes) {
  sockaddr_nl kernel{};
  kernel.nl_family = AF_NETLINK;
  while (true) {
    const ssize_t sent = ::sendto(socket, bytes.data(), bytes.size(), 0,
                                  reinterpret_cast<const sockaddr*>(&kernel), sizeof(kernel));
    if (sent >= 0) return {};
    // The subsystem's module is not loaded: nobody listens at the other end.
    if (errno == ECONNREFUSED) {
      return Fail(ErrorCode::kUnsupported, "ask rdma netlink: no rdma subsystem in this kernel");
    }
    if (errno != EINTR) return FailErrno("send to rdma netlink", errno);
  }
}

// Reads one datagram of the kernel's into `buffer`. An empty view: read again.
Result<std::string_view> Receive(int socket, std::string& buffer) {
  sockaddr_nl from{};
  socklen_t from_bytes = sizeof(from);
  const ssize_t got = ::recvfrom(socket, buffer.data(), buffer.size(), MSG_TRUNC,
                                 reinterpret_cast<sockaddr*>(&from), &from_bytes);
  if (got < 0 && errno == EINTR) return std::string_view();
  if (got < 0 && errno == EAGAIN) {
    return Fail(ErrorCode::kTimeout, "read rdma netlink: no answer in time");
  }
  if (got < 0 && errno == ENOBUFS) {
    return Fail(ErrorCode::kUnavailable, "read rdma netlink: the socket overran");
  }
  if (got < 0) return FailErrno("read rdma netlink", errno);
  // Any process may send to our port; only the kernel's is 0.
  if (from.nl_pid != 0) return std::string_view();
  if (static_cast<std::size_t>(got) > buffer.size()) {
    return Fail(ErrorCode::kCorrupt, "read rdma netlink: a message larger than the buffer");
  }
  return std::string_view(buffer).substr(0, static_cast<std::size_t>(got));
}

// One attempt on a socket of its own, so that nothing of an aborted answer is left to be read.
// An empty optional: interrupted, try again.
Result<std::optional<NldevAnswer>> AskOnce(const NldevRequest& request) {
  RB_TRY(const UniqueFd socket, OpenSocket());
  RB_TRY_VOID(Send(socket.get(), EncodeNldevRequest(request, kSequence)));
  NldevAnswerReader reader(kSequence);
  std::string buffer(kDatagramBytesMax, '\0');
  while (true) {
    auto datagram = Receive(socket.get(), buffer);
    if (!datagram && datagram.error().code == ErrorCode::kUnavailable) return std::nullopt;
    RB_TRY(const std::string_view bytes, std::move(datagram));
    RB_TRY(const NldevAnswerReader::Progress progress, reader.Take(bytes));
    if (progress == NldevAnswerReader::Progress::kInterrupted) return std::nullopt;
    if (progress == NldevAnswerReader::Progress::kDone) return std::move(reader.answer());
  }
}

}  // namespace

Result<NldevAnswer> LinuxNldev::Ask(const NldevRequest& request) {
  for (int attempt = 0; attempt < kNldevAttemptsMax; ++attempt) {
    RB_TRY(std::optional<NldevAnswer> answer, AskOnce(request));
    if (answer) return std::move(*answer);
  }
  return Fail(ErrorCode::kUnavailable, "ask rdma netlink: interrupted every time");
}

}  // namespace rb::agent::rdma
