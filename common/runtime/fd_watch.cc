#include "common/runtime/fd_watch.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace rb {

using Descriptor = boost::asio::posix::stream_descriptor;

FdWatch::FdWatch(Loop& loop, int fd) : fd_(fd), descriptor_(loop.context()) {
  boost::system::error_code error;
  descriptor_.assign(fd, error);
  open_error_ = error.value();
}

FdWatch::~FdWatch() {
  // Asio would close the descriptor; it is not ours. Pending waits end with operation_aborted.
  if (descriptor_.is_open()) descriptor_.release();
}

Task<Result<void>> FdWatch::Readable() { return Wait(Descriptor::wait_read); }

Task<Result<void>> FdWatch::Writable() { return Wait(Descriptor::wait_write); }

void FdWatch::Cancel() {
  boost::system::error_code ignored;  // nothing to cancel is fine
  descriptor_.cancel(ignored);
}

Task<Result<void>> FdWatch::Wait(Descriptor::wait_type what) {
  if (open_error_ != 0) co_return FailErrno("watch fd " + std::to_string(fd_), open_error_);
  constexpr auto kNoThrow = boost::asio::as_tuple(boost::asio::use_awaitable);
  const auto [error] = co_await descriptor_.async_wait(what, kNoThrow);
  // `this` may be gone here: a wait also ends because the watch was destroyed.
  if (error == boost::asio::error::operation_aborted) {
    co_return Fail(ErrorCode::kUnavailable, "watch fd: cancelled", "cancelled");
  }
  if (error) co_return FailErrno("watch fd", error.value());
  co_return Result<void>{};
}

}  // namespace rb
