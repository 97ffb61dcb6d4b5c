// The tenant socket: accepts workloads' processes, checks their frames, answers.
//
// What a process gets is decided in agent/control/attach.h. Here: connections, limits, framing.
//   * a malformed frame closes the connection; so does a peer that asks again before it has read
//     the answer (unread descriptors count against the agent);
//   * a file that the peer never took goes back on the lease's books when the connection ends;
//   * a refusal is an ERROR frame, an event and a metric; the connection goes on. Events of one
//     reason and user are one a second, so that nobody fills the log: the metric counts them all.
//
// Runs on: loop.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

#include "agent/control/attach.h"
#include "agent/lease/event_log.h"
#include "agent/lease/event_throttle.h"
#include "agent/shims/frame_check.h"
#include "common/bare/unique_fd.h"
#include "common/runtime/fd_watch.h"
#include "common/runtime/loop.h"
#include "common/runtime/metrics.h"

namespace rb::agent {

struct TenantLimits {
  std::size_t connections_max = 4096;
  std::size_t connections_per_uid_max = 1024;
  std::chrono::milliseconds first_frame_timeout{5'000};
  // Who spoke and has no lease by then is closed too: a user with many uids (newuidmap) would
  // otherwise hold all connections for ever. The shim connects again when it next asks.
  std::chrono::milliseconds lease_timeout{60'000};
};

class TenantServer {
 public:
  struct Parts {
    Loop& loop;
    Attach& attach;
    NodeView& node;
    LeaseTable& leases;
    EventLog& events;
    ProcessTable& processes;
    CounterFamily& refusals;       // by reason
    CounterFamily& opens;          // uverbs files handed out, by tenant and device
    HistogramFamily& attach_time;  // seconds from an accepted connection to GRANT, and of each OPEN
  };

  // `listener` is a bound, listening SEQPACKET socket.
  TenantServer(Parts parts, UniqueFd listener, TenantLimits limits = {});

  void Start();
  // Stops accepting and closes every connection. Files that were handed out stay with their
  // processes.
  void Stop();

  std::size_t connections() const { return connections_.size(); }

 private:
  struct Connection;

  Task<void> AcceptLoop();
  void Accept(UniqueFd socket);
  Task<void> Serve(std::uint64_t key);
  Task<void> CloseIfWithoutLease(std::uint64_t key);
  Task<bool> Answer(Connection* connection, RequestFrame request);
  Task<bool> AnswerEnter(Connection* connection, EnterFrame frame);
  Task<bool> AnswerHello(Connection* connection, HelloFrame frame);
  Task<bool> AnswerOpen(Connection* connection, OpenFrame frame);
  Result<RequestFrame> ReadRequest(Connection* connection);
  void NoteBadEnd(const Connection& connection, const Error& error);
  void ReleaseUntaken(Connection* connection);
  bool Refuse(Connection* connection, std::uint32_t sequence, const Error& error);
  void Drop(std::uint64_t key);

  Parts parts_;
  UniqueFd listener_;
  FdWatch accept_watch_;
  TenantLimits limits_;
  std::map<std::uint64_t, std::shared_ptr<Connection>> connections_;
  std::map<uid_t, std::size_t> per_uid_;
  std::uint64_t next_key_ = 1;
  EventThrottle refusals_;
};

}  // namespace rb::agent
