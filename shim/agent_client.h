// Speaks to the agent: HELLO and OPEN over its tenant socket, one call at a time.
//
// Connects when first needed and again after the agent went away. A call that takes longer than
// wire::kCallTimeoutMs, connecting included, fails with ETIMEDOUT and drops the connection, so a
// late answer (and its descriptors) is never taken for the next one's.
//
// Not here: what the answers mean (lease.h). Threading: thread-compatible; Session holds its lock.
// Errors are errno values: ECONNREFUSED or ENOENT, no agent; ETIMEDOUT; EPROTO, an answer that
// makes no sense; or what the agent's ERROR frame says.
#pragma once

#include "api/wire/frames.h"
#include "common/bare/fd_message.h"
#include "shim/owned_fd.h"

namespace rb::shim {

// What the agent said when it refused.
struct AgentRefusal {
  bool refused = false;  // an ERROR frame came, as opposed to no answer
  wire::Text<wire::kReasonBytes> reason{};
  wire::Text<wire::kErrorTextBytes> message{};
};

class AgentClient {
 public:
  constexpr AgentClient() = default;

  // Asks what this process holds. On success `policy` and `counters` own the two pages.
  int Hello(const char* socket_path, const char* token, wire::GrantReply* grant, UniqueFd* policy,
            UniqueFd* counters);

  // Asks for a fresh uverbs file of `device`. REQUIRES: Hello succeeded on this connection.
  int Open(const char* device, wire::OpenReply* reply, UniqueFd* file);

  bool connected() const { return socket_.get() >= 0; }
  void Drop() { socket_.Drop(); }

  const AgentRefusal& refusal() const { return refusal_; }

 private:
  int Connect(const char* path, std::uint64_t deadline_ns);
  // Sends `request` and receives the answer of the expected type and exact size with `fd_count`
  // descriptors.
  int Exchange(const void* request, std::size_t request_bytes, wire::FrameType expected,
               void* reply, std::size_t reply_bytes, std::size_t fd_count, ReceivedMessage* message,
               std::uint64_t deadline_ns);
  int Receive(std::uint32_t sequence, wire::FrameType expected, void* reply,
              std::size_t reply_bytes, std::size_t fd_count, ReceivedMessage* message,
              std::uint64_t deadline_ns);

  OwnedFd socket_;
  std::uint32_t sequence_ = 0;
  AgentRefusal refusal_;
};

}  // namespace rb::shim
