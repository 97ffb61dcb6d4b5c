// "Something changed": tasks wait, one call wakes them all. A condition variable for the loop.
//
//   while (!done) co_await changed.Wait();
//
// There is no memory: a notification without a waiter is lost, so the waiter checks its condition
// first. Runs on: loop. Must outlive its waiters.
#pragma once

#include <boost/asio/steady_timer.hpp>

#include "common/runtime/loop.h"
#include "common/runtime/task.h"

namespace rb {

class AsyncEvent {
 public:
  explicit AsyncEvent(Loop& loop);

  Task<void> Wait();
  void NotifyAll();

 private:
  boost::asio::steady_timer never_;  // its cancellation is the notification
};

}  // namespace rb
