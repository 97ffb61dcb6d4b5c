#include "common/runtime/loop.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <utility>

namespace rb {
namespace {

// Nobody is left to handle it: a task's author promised that expected failures are values.
void AbortOn(const std::exception_ptr& error) {
  if (!error) return;
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "loop: an exception escaped a task: %s\n", e.what());
  } catch (...) {
    std::fprintf(stderr, "loop: an unknown exception escaped a task\n");
  }
  std::abort();
}

// What a Run call is waiting for. Shared with the handler, which may run only in a later Run call.
struct Wait {
  bool active = true;
  int signal = 0;
};

}  // namespace

void Loop::Run() {
  context_.restart();
  context_.run();
}

void Loop::RunUntil(Task<void> task) {
  const auto wait = std::make_shared<Wait>();
  boost::asio::co_spawn(context_, std::move(task), [this, wait](const std::exception_ptr& error) {
    AbortOn(error);
    if (wait->active) context_.stop();
  });
  Run();
  wait->active = false;
}

int Loop::RunUntilSignalled() {
  const auto wait = std::make_shared<Wait>();
  // Leaving this function restores the default action: a second signal ends a drain that hangs.
  boost::asio::signal_set signals(context_, SIGTERM, SIGINT);
  signals.async_wait([this, wait](const boost::system::error_code& error, int signal) {
    if (error || !wait->active) return;
    wait->signal = signal;
    context_.stop();
  });
  Run();
  wait->active = false;
  return wait->signal;
}

void Loop::Stop() { context_.stop(); }

void Loop::Post(std::function<void()> fn) { boost::asio::post(context_, std::move(fn)); }

void Loop::Spawn(Task<void> task) {
  // co_spawn alone would run the task inside this call when the caller is on the loop.
  boost::asio::post(context_, [this, task = std::move(task)]() mutable {
    boost::asio::co_spawn(context_, std::move(task), AbortOn);
  });
}

}  // namespace rb
