#include "common/runtime/blocking_pool.h"

#include <boost/asio/async_result.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>

#include "common/base/result.h"

namespace rb {

struct BlockingPool::Threads {
  explicit Threads(std::size_t count) : pool(count) {}
  boost::asio::thread_pool pool;
};

BlockingPool::BlockingPool(Loop& loop, std::size_t threads)
    : loop_(loop), threads_(std::make_unique<Threads>(threads)) {
  RB_CHECK(threads > 0);
}

BlockingPool::~BlockingPool() {
  threads_->pool.stop();
  threads_->pool.join();
}

Task<void> BlockingPool::RunErased(std::function<void()> work) {
  // The handler resumes this coroutine. It travels to the pool and back, and is called on the loop.
  auto start = [this, &work](auto handler) {
    // Keeps Loop::Run() from returning while only a pool thread is busy.
    auto guard = boost::asio::make_work_guard(loop_.context());
    boost::asio::post(threads_->pool, [this, &work, handler = std::move(handler),
                                       guard = std::move(guard)]() mutable {
      std::exception_ptr error;
      try {
        work();
      } catch (...) {
        error = std::current_exception();
      }
      boost::asio::post(loop_.context(), [handler = std::move(handler), error]() mutable {
        std::move(handler)(error);
      });
    });
  };
  co_await boost::asio::async_initiate<const boost::asio::use_awaitable_t<>,
                                       void(std::exception_ptr)>(start, boost::asio::use_awaitable);
}

}  // namespace rb
