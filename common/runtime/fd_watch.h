// Waits in a task until a descriptor is readable or writable: SEQPACKET sockets, netlink, pidfds.
//
// It only waits: the caller does the I/O (fd_message.h, libnl) and must expect EAGAIN. For a pidfd,
// readable means that the process has exited. Regular files cannot be watched.
//
// Ownership: the descriptor is borrowed and never closed here; it must outlive this object, and
// only one FdWatch may watch it. The descriptor becomes non-blocking (O_NONBLOCK) and stays so.
// Runs on: loop.
#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>

#include "common/base/result.h"
#include "common/runtime/loop.h"
#include "common/runtime/task.h"

namespace rb {

class FdWatch {
 public:
  FdWatch(Loop& loop, int fd);
  ~FdWatch();
  FdWatch(const FdWatch&) = delete;
  FdWatch& operator=(const FdWatch&) = delete;

  // Return when the descriptor is ready, also when the peer closed or an error is pending on it.
  // One waiter per direction at a time. Destroying the watch ends a wait like Cancel() does.
  // Errors: kUnavailable with reason "cancelled" after Cancel(); kUnsupported or kInternal when the
  // descriptor cannot be watched.
  Task<Result<void>> Readable();
  Task<Result<void>> Writable();

  // Ends the pending waits.
  void Cancel();

  int fd() const { return fd_; }

 private:
  Task<Result<void>> Wait(boost::asio::posix::stream_descriptor::wait_type what);

  int fd_;
  int open_error_ = 0;  // errno of the registration, reported by the first wait
  boost::asio::posix::stream_descriptor descriptor_;
};

}  // namespace rb
