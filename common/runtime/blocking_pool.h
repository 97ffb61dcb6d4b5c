// Runs blocking work (files, netlink, devices, kernel calls that sleep) away from the loop.
//
//   auto read = [path] { return ReadSmallFile(path); };
//   const auto content = co_await pool.Run(std::move(read));
//
// Name a capturing lambda first, as above: GCC 12 destroys the captures of one that is written
// inside the co_await expression twice.
//
// Threading: Run() is called and resumes on the loop; `fn` runs on a pool thread, so it must own
// what it touches (capture by value). An exception from `fn` is a bug: it reaches the awaiting
// task. Shutdown: the destructor waits for the calls that are running and drops those not yet
// started, whose tasks never resume. Destroy the pool after the loop has stopped and before the
// Loop.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "common/runtime/loop.h"
#include "common/runtime/task.h"

namespace rb {

class BlockingPool {
 public:
  // REQUIRES: threads > 0.
  BlockingPool(Loop& loop, std::size_t threads);
  ~BlockingPool();
  BlockingPool(const BlockingPool&) = delete;
  BlockingPool& operator=(const BlockingPool&) = delete;

  // Runs `fn` on a pool thread and returns what it returned.
  template <class F>
  Task<std::invoke_result_t<F>> Run(F fn);

  Loop& loop() const { return loop_; }

 private:
  struct Threads;

  // Runs `work` on a pool thread; resumes on the loop when it returned, with its exception if it
  // threw.
  Task<void> RunErased(std::function<void()> work);

  Loop& loop_;
  std::unique_ptr<Threads> threads_;
};

template <class F>
Task<std::invoke_result_t<F>> BlockingPool::Run(F fn) {
  using Value = std::invoke_result_t<F>;
  // The frame is suspended while a pool thread uses `fn` and `value`, so references to them hold.
  if constexpr (std::is_void_v<Value>) {
    std::function<void()> work = [&fn] { fn(); };
    co_await RunErased(std::move(work));
  } else {
    std::optional<Value> value;
    std::function<void()> work = [&fn, &value] { value.emplace(fn()); };
    co_await RunErased(std::move(work));
    co_return std::move(*value);
  }
}

}  // namespace rb
