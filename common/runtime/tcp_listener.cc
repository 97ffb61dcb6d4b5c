#include "common/runtime/tcp_listener.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>

namespace rb {
namespace {

struct TcpAddress {
  sockaddr_storage storage{};
  socklen_t bytes = 0;
};

// The sockets API's own cast.
sockaddr* Generic(sockaddr_storage& storage) { return reinterpret_cast<sockaddr*>(&storage); }

Result<TcpAddress> ParseAddress(const std::string& address, std::uint16_t port,
                                const std::string& what) {
  TcpAddress parsed;
  auto* v4 = reinterpret_cast<sockaddr_in*>(&parsed.storage);
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&parsed.storage);
  if (::inet_pton(AF_INET, address.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(port);
    parsed.bytes = sizeof(*v4);
    return parsed;
  }
  if (::inet_pton(AF_INET6, address.c_str(), &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(port);
    parsed.bytes = sizeof(*v6);
    return parsed;
  }
  return Fail(ErrorCode::kInvalid, what + ": not a numeric IPv4 or IPv6 address");
}

}  // namespace

Result<UniqueFd> ListenTcp(const std::string& address, std::uint16_t port) {
  const std::string what = "listen on " + address + " port " + std::to_string(port);
  RB_TRY(TcpAddress parsed, ParseAddress(address, port, what));
  UniqueFd fd(
      ::socket(parsed.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP));
  if (!fd) return FailErrno(what, errno);
  // A restarted daemon must not wait for its old connections to leave TIME_WAIT.
  const int on = 1;
  if (::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0) {
    return FailErrno(what, errno);
  }
  if (::bind(fd.get(), Generic(parsed.storage), parsed.bytes) != 0 ||
      ::listen(fd.get(), SOMAXCONN) != 0) {
    if (errno == EADDRINUSE) return Fail(ErrorCode::kConflict, what + ": address already in use");
    return FailErrno(what, errno);
  }
  return fd;
}

Result<std::uint16_t> BoundPort(int fd) {
  sockaddr_storage storage{};
  socklen_t bytes = sizeof(storage);
  if (::getsockname(fd, Generic(storage), &bytes) != 0) return FailErrno("read the port", errno);
  if (storage.ss_family == AF_INET) {
    return ntohs(reinterpret_cast<const sockaddr_in*>(&storage)->sin_port);
  }
  if (storage.ss_family == AF_INET6) {
    return ntohs(reinterpret_cast<const sockaddr_in6*>(&storage)->sin6_port);
  }
  return Fail(ErrorCode::kInvalid, "read the port: not a TCP socket");
}

}  // namespace rb
