#include "cli/enter.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "api/wire/frames.h"
#include "api/wire/text.h"
#include "common/bare/fd_message.h"
#include "common/bare/unique_fd.h"

namespace rb::cli {
namespace {

constexpr std::uint32_t kSequence = 1;

Result<void> SetTimeouts(int socket) {
  const timeval timeout{.tv_sec = wire::kCallTimeoutMs / 1000,
                        .tv_usec = suseconds_t{wire::kCallTimeoutMs % 1000} * 1000};
  for (const int option : {SO_SNDTIMEO, SO_RCVTIMEO}) {
    if (::setsockopt(socket, SOL_SOCKET, option, &timeout, sizeof(timeout)) != 0) {
      return FailErrno("set timeout", errno);
    }
  }
  return {};
}

Result<UniqueFd> Connect(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    return Fail(ErrorCode::kInvalid, "agent socket " + path + ": the path is too long");
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!socket) return FailErrno("create socket", errno);
  RB_TRY_VOID(SetTimeouts(socket.get()));
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    if (errno == ENOENT || errno == ECONNREFUSED) {
      return Fail(ErrorCode::kUnavailable, "no agent answers at " + path +
                                               ": start it, or name its tenant socket with "
                                               "--agent-socket");
    }
    return FailErrno("connect to the agent at " + path, errno);
  }
  return socket;
}

template <std::size_t N>
std::string TextOf(const wire::Text<N>& text) {
  return wire::IsText(text) ? std::string(text.data()) : std::string();
}

Result<std::string> ReadError(const wire::ErrorReply& reply) {
  auto failure = FailErrno("enter lease", static_cast<int>(reply.errno_value));
  failure.value().reason = TextOf(reply.reason);
  failure.value().message =
      "enter lease: " + TextOf(reply.message) + " (" + failure.value().reason + ")";
  return failure;
}

// Copies the frame out when type and size are those of T.
template <class T>
bool Holds(const std::array<unsigned char, wire::kFrameBytesMax>& buffer, std::size_t bytes,
           wire::FrameType type, T* frame) {
  if (bytes != sizeof(T)) return false;
  std::memcpy(frame, buffer.data(), sizeof(T));
  const wire::FrameHeader& header = frame->header;
  return header.magic == wire::kFrameMagic && header.version == wire::kWireVersion &&
         header.type == static_cast<std::uint16_t>(type) && header.length == bytes &&
         header.sequence == kSequence;
}

Result<std::string> ReadReply(int socket) {
  std::array<unsigned char, wire::kFrameBytesMax> buffer{};
  ReceivedMessage message;
  const int failed = ReceiveMessage(socket, buffer.data(), buffer.size(), &message, 0);
  if (failed == EAGAIN) return Fail(ErrorCode::kTimeout, "enter lease: the agent does not answer");
  if (failed != 0) return FailErrno("enter lease", failed);
  if (message.bytes == 0) {
    return Fail(ErrorCode::kCorrupt, "enter lease: the agent closed the connection");
  }
  wire::EnterReply entered{};
  if (Holds(buffer, message.bytes, wire::FrameType::kEntered, &entered)) {
    return TextOf(entered.lease_id);
  }
  wire::ErrorReply error{};
  if (Holds(buffer, message.bytes, wire::FrameType::kError, &error)) return ReadError(error);
  return Fail(ErrorCode::kCorrupt, "enter lease: the agent's answer is no frame that is known");
}

}  // namespace

Result<std::string> EnterLease(const std::string& socket_path, const std::string& token) {
  auto request = wire::MakeFrame<wire::EnterRequest>(wire::FrameType::kEnter, kSequence);
  if (token.empty() || !wire::SetText(&request.token, token.c_str())) {
    return Fail(ErrorCode::kInvalid, "enter lease: this is no token of a lease");
  }
  RB_TRY(const UniqueFd socket, Connect(socket_path));
  const int failed = SendMessage(socket.get(), &request, sizeof(request), nullptr, 0, 0);
  if (failed != 0) return FailErrno("enter lease", failed);
  return ReadReply(socket.get());
}

}  // namespace rb::cli
