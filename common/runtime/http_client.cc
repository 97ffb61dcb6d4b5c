#include "common/runtime/http_client.h"

#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>

#include "common/bare/unique_fd.h"
#include "common/runtime/http_parser.h"

namespace rb {
namespace {

using Deadline = std::chrono::steady_clock::time_point;

std::string NameOf(const HttpEndpoint& endpoint) {
  if (!endpoint.unix_path.empty()) return endpoint.unix_path;
  return endpoint.host + ":" + std::to_string(endpoint.port);
}

int MillisecondsLeft(Deadline deadline) {
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 1'000'000'000));
}

// `fd` -1 only waits.
Result<void> WaitFor(int fd, short events, Deadline deadline, const std::string& what) {
  while (true) {
    pollfd entry{.fd = fd, .events = events, .revents = 0};
    const int ready = ::poll(&entry, 1, MillisecondsLeft(deadline));
    if (ready > 0) return {};
    if (ready == 0) return Fail(ErrorCode::kTimeout, what + ": the deadline passed");
    if (errno != EINTR) return FailErrno(what, errno);
  }
}

// Finishes a connect(2) that returned EINPROGRESS.
Result<void> FinishConnect(int fd, Deadline deadline, const std::string& what) {
  RB_TRY_VOID(WaitFor(fd, POLLOUT, deadline, what));
  int error = 0;
  socklen_t bytes = sizeof(error);
  if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &bytes) != 0) return FailErrno(what, errno);
  if (error != 0) return FailErrno(what, error);
  return {};
}

Result<UniqueFd> Connect(const sockaddr* address, socklen_t bytes, Deadline deadline,
                         const std::string& what) {
  UniqueFd fd(::socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return FailErrno(what, errno);
  while (::connect(fd.get(), address, bytes) != 0) {
    if (errno == EINPROGRESS) {
      RB_TRY_VOID(FinishConnect(fd.get(), deadline, what));
      break;
    }
    // A Unix socket whose backlog is full says EAGAIN and cannot be polled for room.
    if (errno != EAGAIN && errno != EINTR) return FailErrno(what, errno);
    const Deadline retry = std::chrono::steady_clock::now() + std::chrono::milliseconds(5);
    if (retry > deadline) return Fail(ErrorCode::kTimeout, what + ": the deadline passed");
    (void)WaitFor(-1, 0, retry, what);
  }
  return fd;
}

Result<UniqueFd> ConnectUnix(const HttpEndpoint& endpoint, Deadline deadline,
                             const std::string& what) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (endpoint.unix_path.size() >= sizeof(address.sun_path)) {
    return Fail(ErrorCode::kInvalid, what + ": the socket path is too long");
  }
  std::memcpy(address.sun_path, endpoint.unix_path.c_str(), endpoint.unix_path.size() + 1);
  auto fd = Connect(reinterpret_cast<const sockaddr*>(&address), sizeof(address), deadline, what);
  // No socket file means the same as nobody listening.
  if (!fd && fd.error().code == ErrorCode::kNotFound) fd.error().code = ErrorCode::kUnavailable;
  return fd;
}

Result<UniqueFd> ConnectTcp(const HttpEndpoint& endpoint, Deadline deadline,
                            const std::string& what) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const std::string port = std::to_string(endpoint.port);
  const int failed = ::getaddrinfo(endpoint.host.c_str(), port.c_str(), &hints, &found);
  if (failed != 0) return Fail(ErrorCode::kUnavailable, what + ": " + ::gai_strerror(failed));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owned(found, &::freeaddrinfo);

  Result<UniqueFd> fd = Fail(ErrorCode::kUnavailable, what + ": no address");
  for (const addrinfo* one = found; one != nullptr && !fd; one = one->ai_next) {
    fd = Connect(one->ai_addr, one->ai_addrlen, deadline, what);
  }
  if (!fd && fd.error().code == ErrorCode::kInternal) fd.error().code = ErrorCode::kUnavailable;
  return fd;
}

bool IsToken(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
    return c > 0x20 && c < 0x7f && std::strchr("()<>@,;:\\\"/[]?={}", c) == nullptr;
  });
}

bool IsFieldValue(std::string_view text) {
  return std::ranges::all_of(text,
                             [](unsigned char c) { return (c >= 0x20 && c != 0x7f) || c == '\t'; });
}

// The whole request. Errors: kInvalid, for what would not arrive as one request.
Result<std::string> Serialize(const HttpEndpoint& endpoint, const HttpRequest& request) {
  if (!IsToken(request.method) || !ParseTarget(request.target)) {
    return Fail(ErrorCode::kInvalid, "send request: bad method or target");
  }
  std::string text = request.method + " " + request.target + " HTTP/1.1\r\n";
  if (request.Header("host") == nullptr) {
    const bool v6 = endpoint.host.find(':') != std::string::npos;
    const std::string host = v6 ? "[" + endpoint.host + "]" : endpoint.host;
    text += "Host: " +
            (endpoint.unix_path.empty() ? host + ":" + std::to_string(endpoint.port)
                                        : std::string("localhost")) +
            "\r\n";
  }
  for (const auto& [name, value] : request.headers) {
    if (!IsToken(name) || !IsFieldValue(value)) {
      return Fail(ErrorCode::kInvalid, "send request: bad header " + name);
    }
    text += name;
    text += ": " + value + "\r\n";
  }
  text +=
      "Content-Length: " + std::to_string(request.body.size()) + "\r\nConnection: close\r\n\r\n";
  return text + request.body;
}

Result<void> SendAll(int fd, std::string_view bytes, Deadline deadline, const std::string& what) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN) {
      RB_TRY_VOID(WaitFor(fd, POLLOUT, deadline, what));
    } else if (errno == EPIPE || errno == ECONNRESET) {
      return {};  // the server answered early (413, 503) and stopped reading: its answer counts
    } else if (errno != EINTR) {
      return FailErrno(what, errno);
    }
  }
  return {};
}

Result<HttpResponse> Receive(int fd, bool head_only, Deadline deadline, const std::string& what) {
  HttpResponseParser parser(kHttpResponseBytesMax, head_only);
  std::string buffer;
  std::array<char, 16384> chunk{};
  while (!parser.done()) {
    const ssize_t got = ::recv(fd, chunk.data(), chunk.size(), 0);
    if (got > 0) {
      buffer.append(chunk.data(), static_cast<std::size_t>(got));
      RB_TRY(const std::size_t used, parser.Parse(buffer));
      buffer.erase(0, used);
    } else if (got == 0) {
      RB_TRY_VOID(parser.ParseEnd());
    } else if (errno == EAGAIN) {
      RB_TRY_VOID(WaitFor(fd, POLLIN, deadline, what));
    } else if (errno == ECONNRESET) {
      return Fail(ErrorCode::kUnavailable, what + ": the connection was reset");
    } else if (errno != EINTR) {
      return FailErrno(what, errno);
    }
  }
  return parser.Take();
}

}  // namespace

Result<HttpResponse> CallHttp(const HttpEndpoint& endpoint, const HttpRequest& request,
                              std::chrono::milliseconds deadline) {
  const Deadline until = std::chrono::steady_clock::now() + deadline;
  const std::string what = "call " + NameOf(endpoint);
  RB_TRY(const std::string text, Serialize(endpoint, request));
  RB_TRY(const UniqueFd fd, endpoint.unix_path.empty() ? ConnectTcp(endpoint, until, what)
                                                       : ConnectUnix(endpoint, until, what));
  RB_TRY_VOID(SendAll(fd.get(), text, until, what));
  return Receive(fd.get(), request.method == "HEAD", until, what);
}

}  // namespace rb
