#include "agent/shims/tenant_server.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <span>
#include <utility>

#include "agent/shims/grant_frame.h"
#include "api/wire/frames.h"
#include "api/wire/text.h"
#include "common/bare/fd_message.h"
#include "common/runtime/log.h"
#include "common/runtime/timer.h"

namespace rb::agent {
namespace {

constexpr std::chrono::milliseconds kAcceptPause{100};  // when the process is out of descriptors

// What accept(2) says when this one connection is not there any more, or not yet.
bool IsPassing(int error) { return error == EAGAIN || error == ECONNABORTED || error == EINTR; }

// True when the peer has read everything that was sent to it.
bool HasReadAll(int socket) {
  int unread = 0;
  return ::ioctl(socket, SIOCOUTQ, &unread) != 0 || unread == 0;
}

uid_t PeerUid(int socket) {
  ucred peer{};
  socklen_t length = sizeof(peer);
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0
             ? peer.uid
             : static_cast<uid_t>(-1);
}

double SecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

// One connection. Shared between its task and the table: Stop() may take it out of the table while
// the task is in the middle of an answer.
struct TenantServer::Connection {
  Connection(Loop& loop, UniqueFd fd, uid_t peer_uid)
      : socket(std::move(fd)), watch(loop, socket.get()), uid(peer_uid) {}

  bool Send(const void* frame, std::size_t bytes, std::span<const int> fds) {
    return SendMessage(socket.get(), frame, bytes, fds.data(), fds.size(), MSG_DONTWAIT) == 0;
  }

  UniqueFd socket;
  FdWatch watch;  // after socket: it must go first
  uid_t uid;
  std::chrono::steady_clock::time_point accepted_at = std::chrono::steady_clock::now();
  std::optional<Attested> peer;
  std::string lease;  // after HELLO
  bool spoke = false;
  // Of the file that was sent last, until the peer has read that answer.
  std::optional<std::uint32_t> untaken_slot;
};

TenantServer::TenantServer(Parts parts, UniqueFd listener, TenantLimits limits)
    : parts_(parts),
      listener_(std::move(listener)),
      accept_watch_(parts_.loop, listener_.get()),
      limits_(limits) {}

void TenantServer::Start() { parts_.loop.Spawn(AcceptLoop()); }

void TenantServer::Stop() {
  accept_watch_.Cancel();
  for (const auto& [key, connection] : connections_) connection->watch.Cancel();
  connections_.clear();
  per_uid_.clear();
}

Task<void> TenantServer::AcceptLoop() {
  while (true) {
    const auto ready = co_await accept_watch_.Readable();
    if (!ready) co_return;
    UniqueFd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket) {
      Accept(std::move(socket));
    } else if (!IsPassing(errno)) {
      // Out of descriptors or memory. The connection stays in the queue, so it would be tried at
      // once.
      RB_LOG_ERROR("tenant socket: accept: {}, {} connections", std::strerror(errno),
                   connections_.size());
      co_await SleepFor(parts_.loop, kAcceptPause);
    }
  }
}

void TenantServer::Accept(UniqueFd socket) {
  const uid_t uid = PeerUid(socket.get());
  if (connections_.size() >= limits_.connections_max ||
      per_uid_[uid] >= limits_.connections_per_uid_max) {
    parts_.refusals.Increment({{"reason", "connections"}});
    return;  // closed
  }
  const std::uint64_t key = next_key_++;
  ++per_uid_[uid];
  connections_[key] = std::make_shared<Connection>(parts_.loop, std::move(socket), uid);
  parts_.loop.Spawn(Serve(key));
  parts_.loop.Spawn(CloseIfWithoutLease(key));
}

Task<void> TenantServer::CloseIfWithoutLease(std::uint64_t key) {
  co_await SleepFor(parts_.loop, limits_.first_frame_timeout);
  auto found = connections_.find(key);
  if (found == connections_.end()) co_return;
  if (!found->second->spoke) {
    found->second->watch.Cancel();
    co_return;
  }
  if (!found->second->lease.empty()) co_return;
  co_await SleepFor(parts_.loop, limits_.lease_timeout - limits_.first_frame_timeout);
  found = connections_.find(key);
  if (found != connections_.end() && found->second->lease.empty()) found->second->watch.Cancel();
}

void TenantServer::Drop(std::uint64_t key) {
  const auto found = connections_.find(key);
  if (found == connections_.end()) return;
  const auto count = per_uid_.find(found->second->uid);
  if (count != per_uid_.end() && --count->second == 0) per_uid_.erase(count);
  connections_.erase(found);
}

Task<void> TenantServer::Serve(std::uint64_t key) {
  const std::shared_ptr<Connection> connection = connections_.at(key);
  while (connections_.contains(key)) {
    const auto ready = co_await connection->watch.Readable();
    if (!ready) break;
    auto request = ReadRequest(connection.get());
    if (!request) {
      if (request.error().code == ErrorCode::kUnavailable) continue;
      NoteBadEnd(*connection, request.error());
      break;
    }
    connection->spoke = true;
    if (!co_await Answer(connection.get(), std::move(*request))) break;
    // The time may have come during the answer, when there was no wait to end.
    const auto age = std::chrono::steady_clock::now() - connection->accepted_at;
    if (connection->lease.empty() && age >= limits_.lease_timeout) break;
  }
  Drop(key);
}

// One frame from the socket. Errors: kUnavailable, nothing is there after all; anything else ends
// the connection, kNotFound because the peer closed it.
Result<RequestFrame> TenantServer::ReadRequest(Connection* connection) {
  std::array<std::byte, wire::kFrameBytesMax> packet{};
  ReceivedMessage message;
  const int error = ReceiveMessage(connection->socket.get(), packet.data(), packet.size(), &message,
                                   MSG_DONTWAIT);
  if (error == EAGAIN) return Fail(ErrorCode::kUnavailable, "tenant socket: empty");
  if (error == EMSGSIZE) {
    return Fail(ErrorCode::kInvalid, "frame: too large, or too many descriptors", "bad_frame");
  }
  if (error != 0 || message.bytes == 0) {
    // The kernel says ECONNRESET when the peer closed with an answer unread.
    if (error == ECONNRESET) ReleaseUntaken(connection);
    return Fail(ErrorCode::kNotFound, "tenant socket: closed");
  }
  if (!HasReadAll(connection->socket.get())) {
    return Fail(ErrorCode::kInvalid, "frame: sent before the last answer was read", "unread_reply");
  }
  connection->untaken_slot.reset();
  return CheckFrame(std::span(packet).first(message.bytes), message.fd_count);
}

void TenantServer::NoteBadEnd(const Connection& connection, const Error& error) {
  if (error.code == ErrorCode::kNotFound) return;  // hanging up is no offence
  parts_.refusals.Increment({{"reason", error.reason}});
  if (!refusals_.Admit(error.reason, connection.uid, std::chrono::steady_clock::now())) return;
  RB_LOG_WARN("tenant uid {}: {}; connection closed", connection.uid, error.message);
}

// The file went nowhere: its slot is over as if its last holder had closed it. Otherwise a process
// whose call timed out would have one context less until it exits.
void TenantServer::ReleaseUntaken(Connection* connection) {
  const std::optional<std::uint32_t> slot = std::exchange(connection->untaken_slot, std::nullopt);
  LeaseRecord* lease = parts_.leases.Find(connection->lease);
  if (!slot || lease == nullptr || !lease->counters) return;
  const auto note = std::ranges::find(lease->slots, *slot, &SlotNote::slot);
  if (note == lease->slots.end() || note->opener != connection->peer->facts.pid) return;
  wire::StoreRelease(&lease->counters->page()->slots[*slot].state,
                     static_cast<std::uint32_t>(wire::SlotState::kClosed));
}

Task<bool> TenantServer::Answer(Connection* connection, RequestFrame request) {
  if (!connection->peer) {
    auto peer = AttestPeer(connection->socket.get(), parts_.processes);
    if (!peer) {
      if (refusals_.Admit(peer.error().reason, connection->uid, std::chrono::steady_clock::now())) {
        RB_LOG_WARN("tenant uid {}: {}", connection->uid, peer.error().message);
      }
      parts_.refusals.Increment({{"reason", peer.error().reason}});
      co_return false;
    }
    connection->peer = std::move(*peer);
  } else {
    // The process may have been moved to another cgroup since it last asked.
    auto facts = Reattest(*connection->peer, parts_.processes);
    if (!facts) co_return false;
    connection->peer->facts = std::move(*facts);
  }
  if (auto* enter = std::get_if<EnterFrame>(&request)) {
    co_return co_await AnswerEnter(connection, std::move(*enter));
  }
  if (auto* hello = std::get_if<HelloFrame>(&request)) {
    co_return co_await AnswerHello(connection, std::move(*hello));
  }
  co_return co_await AnswerOpen(connection, std::move(std::get<OpenFrame>(request)));
}

Task<bool> TenantServer::AnswerEnter(Connection* connection, EnterFrame frame) {
  const auto lease = co_await parts_.attach.Enter(*connection->peer, frame.token);
  if (!lease) co_return Refuse(connection, frame.sequence, lease.error());
  auto reply = wire::MakeFrame<wire::EnterReply>(wire::FrameType::kEntered, frame.sequence);
  wire::SetText(&reply.lease_id, lease->c_str());
  co_return connection->Send(&reply, sizeof(reply), {});
}

Task<bool> TenantServer::AnswerHello(Connection* connection, HelloFrame frame) {
  const auto id = co_await parts_.attach.Hello(*connection->peer, frame.token);
  if (!id) co_return Refuse(connection, frame.sequence, id.error());
  const LeaseRecord* lease = parts_.leases.Find(*id);
  auto policy = lease->policy->OpenForTenant();
  if (!policy) co_return Refuse(connection, frame.sequence, policy.error());
  const wire::GrantReply reply = MakeGrant(*lease, parts_.node.inventory(), frame.sequence);
  const std::array<int, 2> fds{policy->get(), lease->counters->fd()};
  connection->lease = *id;
  parts_.attach_time.Observe({{"step", "grant"}}, SecondsSince(connection->accepted_at));
  co_return connection->Send(&reply, sizeof(reply), fds);
}

Task<bool> TenantServer::AnswerOpen(Connection* connection, OpenFrame frame) {
  if (connection->lease.empty()) {
    const Error early{
        .code = ErrorCode::kInvalid, .message = "OPEN before HELLO", .reason = "bad_frame"};
    NoteBadEnd(*connection, early);
    co_return false;
  }
  const auto start = std::chrono::steady_clock::now();
  auto opened = co_await parts_.attach.Open(*connection->peer, connection->lease, frame.device);
  if (!opened) co_return Refuse(connection, frame.sequence, opened.error());
  auto reply = wire::MakeFrame<wire::OpenReply>(wire::FrameType::kOpened, frame.sequence);
  reply.slot = opened->slot;
  reply.device_index = opened->device_index;
  reply.driver_id = opened->driver_id;
  const std::array<int, 1> fds{opened->file.get()};
  const LeaseRecord* lease = parts_.leases.Find(connection->lease);
  if (lease != nullptr) {
    parts_.opens.Increment({{"tenant", lease->spec.tenant}, {"device", frame.device}});
  }
  parts_.attach_time.Observe({{"step", "open"}}, SecondsSince(start));
  connection->untaken_slot = opened->slot;
  if (connection->Send(&reply, sizeof(reply), fds)) co_return true;
  ReleaseUntaken(connection);
  co_return false;
}

bool TenantServer::Refuse(Connection* connection, std::uint32_t sequence, const Error& error) {
  const std::string reason = error.reason.empty() ? std::string(Name(error.code)) : error.reason;
  parts_.refusals.Increment({{"reason", reason}});
  // A refused context is in the lease's page already and becomes its own event with used and
  // allowed.
  const auto held_back = refusals_.Admit(reason, connection->uid, std::chrono::steady_clock::now());
  if (reason != "limit_contexts" && held_back) {
    rest::Event event;
    event.type = "refused";
    event.reason = reason;
    event.lease = connection->lease;
    event.message = error.message;
    event.details = {{"pid", std::to_string(connection->peer->facts.pid)},
                     {"uid", std::to_string(connection->uid)}};
    if (*held_back > 0) event.details["held_back"] = std::to_string(*held_back);
    parts_.events.Add(std::move(event));
  }
  const wire::ErrorReply reply = MakeErrorFrame(error, sequence);
  return connection->Send(&reply, sizeof(reply), {});
}

}  // namespace rb::agent
