#include "common/runtime/timer.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstdint>
#include <utility>

#include "common/base/result.h"

namespace rb {

Task<void> SleepFor(Loop& loop, std::chrono::nanoseconds duration) {
  boost::asio::steady_timer timer(loop.context(), duration);
  constexpr auto kNoThrow = boost::asio::as_tuple(boost::asio::use_awaitable);
  co_await timer.async_wait(kNoThrow);
}

struct PeriodicTimer::State {
  explicit State(Loop& loop) : timer(loop.context()) {}

  boost::asio::steady_timer timer;
  std::chrono::nanoseconds period{0};
  // Shared with a running call, so that Stop() inside it does not destroy the running function.
  std::shared_ptr<std::function<void()>> fn;
  // Counts Start and Stop: a wait that completed before it could be cancelled belongs to an older
  // one.
  std::uint64_t generation = 0;
};

PeriodicTimer::PeriodicTimer(Loop& loop) : state_(std::make_shared<State>(loop)) {}

PeriodicTimer::~PeriodicTimer() { Stop(); }

void PeriodicTimer::Start(std::chrono::nanoseconds period, std::function<void()> fn) {
  RB_CHECK(period > std::chrono::nanoseconds(0));
  Stop();
  state_->period = period;
  state_->fn = std::make_shared<std::function<void()>>(std::move(fn));
  state_->timer.expires_after(period);
  Arm(state_);
}

void PeriodicTimer::Stop() {
  ++state_->generation;
  state_->fn.reset();
  state_->timer.cancel();
}

void PeriodicTimer::Arm(const std::shared_ptr<State>& state) {
  state->timer.async_wait(
      [state, generation = state->generation](const boost::system::error_code& error) {
        if (error || generation != state->generation) return;
        const std::shared_ptr<std::function<void()>> fn = state->fn;
        (*fn)();
        if (generation != state->generation) return;
        const auto now = boost::asio::steady_timer::clock_type::now();
        const auto next = state->timer.expiry() + state->period;
        state->timer.expires_at(next > now ? next : now + state->period);
        Arm(state);
      });
}

}  // namespace rb
