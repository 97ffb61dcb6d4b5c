// The event loop: one thread that owns all state of a daemon.
//
// It is an io_context with one rule: only one thread runs it. Code marked "Runs on: loop" needs no
// locks. Blocking work goes to BlockingPool (blocking_pool.h); time to timer.h; descriptors to
// fd_watch.h.
//
// Threading: Post() and Stop() may be called from any thread. Everything else: the thread that runs
// the loop, or any one thread while nobody runs it.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>

#include "common/runtime/task.h"

namespace rb {

class Loop {
 public:
  Loop() = default;
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // Runs until Stop(), or until nothing is left to do.
  void Run();

  // Runs until `task` is done; other work stays pending and goes on with the next Run call.
  // Stop() ends it early. Used for start-up, draining and tests.
  void RunUntil(Task<void> task);

  // Runs until SIGTERM or SIGINT (returns its number), or until Stop() (returns 0). Draining is the
  // caller's next step: `loop.RunUntil(server.Stop())`.
  int RunUntilSignalled();

  // Makes the running Run call return; without one it does nothing. What is pending stays pending.
  void Stop();

  // Runs `fn` on the loop, never inside this call.
  void Post(std::function<void()> fn);

  // Starts `task`, never inside this call. An exception that escapes it is a bug: the process says
  // which and aborts.
  void Spawn(Task<void> task);

  boost::asio::io_context& context() { return context_; }

 private:
  // One runner: lets Asio skip some locking; posts from other threads stay safe.
  boost::asio::io_context context_{1};
};

}  // namespace rb
