#include "shim/agent_client.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "api/wire/text.h"
#include "shim/clock.h"

namespace rb::shim {
namespace {

constexpr std::uint64_t kConnectRetryNs = 5 * kNsPerMs;
constexpr std::uint32_t kErrnoMax = 4095;  // the kernel's own bound

std::uint64_t Deadline() { return NowNs() + (wire::kCallTimeoutMs * kNsPerMs); }

// Waits until the socket is ready for `events`. Returns 0 or ETIMEDOUT.
int WaitReady(int socket, short events, std::uint64_t deadline_ns) {
  while (true) {
    const std::uint64_t now = NowNs();
    if (now >= deadline_ns) return ETIMEDOUT;
    pollfd entry{.fd = socket, .events = events, .revents = 0};
    const auto left_ms = static_cast<int>(((deadline_ns - now) / kNsPerMs) + 1);
    if (::poll(&entry, 1, left_ms) > 0) return 0;  // EINTR: look at the clock again
  }
}

bool ValidHeader(const wire::FrameHeader& header, std::size_t bytes, std::uint32_t sequence) {
  return header.magic == wire::kFrameMagic && header.version == wire::kWireVersion &&
         header.length == bytes && header.sequence == sequence;
}

// Texts from the wire become C strings only when they are whole.
bool ValidGrant(const wire::GrantReply& grant) {
  if (grant.device_count > wire::kLeaseDevicesMax || !wire::IsText(grant.lease_id)) return false;
  return std::all_of(grant.devices.begin(), grant.devices.begin() + grant.device_count,
                     [](const wire::GrantedDevice& device) {
                       return wire::IsText(device.name) && wire::IsText(device.node);
                     });
}

int ReadRefusal(const char* frame, std::size_t bytes, AgentRefusal* refusal) {
  wire::ErrorReply error{};
  if (bytes != sizeof(error)) return EPROTO;
  std::memcpy(&error, frame, sizeof(error));
  if (!wire::IsText(error.reason) || !wire::IsText(error.message)) return EPROTO;
  if (error.errno_value == 0 || error.errno_value > kErrnoMax) return EPROTO;
  *refusal = {.refused = true, .reason = error.reason, .message = error.message};
  return static_cast<int>(error.errno_value);
}

}  // namespace

int AgentClient::Connect(const char* path, std::uint64_t deadline_ns) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (std::strlen(path) >= sizeof(address.sun_path)) return ENAMETOOLONG;
  std::memcpy(address.sun_path, path, std::strlen(path));
  UniqueFd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return errno;
  while (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    // EAGAIN: the agent's queue of connections is full, and poll() cannot wait for that.
    if (errno != EAGAIN && errno != EINTR) return errno;
    if (NowNs() >= deadline_ns) return ETIMEDOUT;
    SleepNs(kConnectRetryNs);
  }
  socket_.Take(std::move(fd));
  return 0;
}

int AgentClient::Receive(std::uint32_t sequence, wire::FrameType expected, void* reply,
                         std::size_t reply_bytes, std::size_t fd_count, ReceivedMessage* message,
                         std::uint64_t deadline_ns) {
  alignas(8) std::array<char, wire::kFrameBytesMax> frame;
  int error = EAGAIN;
  while (error == EAGAIN) {
    error = WaitReady(socket_.get(), POLLIN, deadline_ns);
    if (error != 0) return error;
    error = ReceiveMessage(socket_.get(), frame.data(), frame.size(), message, MSG_DONTWAIT);
  }
  if (error != 0) return error;
  if (message->bytes == 0) return ECONNRESET;
  wire::FrameHeader header{};
  if (message->bytes < sizeof(header)) return EPROTO;
  std::memcpy(&header, frame.data(), sizeof(header));
  if (!ValidHeader(header, message->bytes, sequence)) return EPROTO;
  if (header.type == static_cast<std::uint16_t>(wire::FrameType::kError)) {
    return ReadRefusal(frame.data(), message->bytes, &refusal_);
  }
  if (header.type != static_cast<std::uint16_t>(expected) || message->bytes != reply_bytes ||
      message->fd_count != fd_count) {
    return EPROTO;
  }
  std::memcpy(reply, frame.data(), reply_bytes);
  return 0;
}

int AgentClient::Exchange(const void* request, std::size_t request_bytes, wire::FrameType expected,
                          void* reply, std::size_t reply_bytes, std::size_t fd_count,
                          ReceivedMessage* message, std::uint64_t deadline_ns) {
  refusal_ = {};
  int error = EAGAIN;
  while (error == EAGAIN) {
    error = WaitReady(socket_.get(), POLLOUT, deadline_ns);
    if (error != 0) break;
    error = SendMessage(socket_.get(), request, request_bytes, nullptr, 0, MSG_DONTWAIT);
  }
  if (error == 0) {
    error = Receive(sequence_, expected, reply, reply_bytes, fd_count, message, deadline_ns);
  }
  // After a refusal the connection stays good; after anything else nobody knows what comes next.
  if (error != 0 && !refusal_.refused) Drop();
  return error;
}

int AgentClient::Hello(const char* socket_path, const char* token, wire::GrantReply* grant,
                       UniqueFd* policy, UniqueFd* counters) {
  const std::uint64_t deadline_ns = Deadline();
  refusal_ = {};
  if (!connected()) {
    const int error = Connect(socket_path, deadline_ns);
    if (error != 0) return error;
  }
  auto request = wire::MakeFrame<wire::HelloRequest>(wire::FrameType::kHello, ++sequence_);
  wire::SetText(&request.token, token);
  ReceivedMessage message;
  const int error = Exchange(&request, sizeof(request), wire::FrameType::kGrant, grant,
                             sizeof(*grant), 2, &message, deadline_ns);
  if (error != 0) return error;
  if (!ValidGrant(*grant)) {
    Drop();
    return EPROTO;
  }
  *policy = std::move(message.fds[0]);
  *counters = std::move(message.fds[1]);
  return 0;
}

int AgentClient::Open(const char* device, wire::OpenReply* reply, UniqueFd* file) {
  auto request = wire::MakeFrame<wire::OpenRequest>(wire::FrameType::kOpen, ++sequence_);
  wire::SetText(&request.device, device);
  ReceivedMessage message;
  const int error = Exchange(&request, sizeof(request), wire::FrameType::kOpened, reply,
                             sizeof(*reply), 1, &message, Deadline());
  if (error != 0) return error;
  if (reply->slot >= wire::kSlotsMax || reply->device_index >= wire::kLeaseDevicesMax) {
    Drop();
    return EPROTO;
  }
  *file = std::move(message.fds[0]);
  return 0;
}

}  // namespace rb::shim
