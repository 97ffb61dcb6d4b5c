#include "common/runtime/async_event.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace rb {

AsyncEvent::AsyncEvent(Loop& loop)
    : never_(loop.context(), boost::asio::steady_timer::time_point::max()) {}

Task<void> AsyncEvent::Wait() {
  co_await never_.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
}

void AsyncEvent::NotifyAll() { never_.cancel(); }

}  // namespace rb
