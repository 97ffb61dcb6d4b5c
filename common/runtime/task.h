// Task<T>: the return type of every coroutine of the daemons.
//
// A task does not start until it is awaited or given to Loop::Spawn(), and runs on the loop's
// thread.
//
// Rules (GCC 12 destroys some coroutine arguments twice):
//   * parameters by value; name every aggregate argument before the co_await that passes it;
//   * a capturing lambda coroutine must be stored by somebody who outlives its tasks, never called
//   at once;
//   * never await while an invariant is broken: anything may run in between.
// Lifetime: the frame of a task that never finished is destroyed with the Loop, after the objects
// that were built later than the Loop. Destructors of its locals must not touch borrowed objects.
#pragma once

#include <boost/asio/awaitable.hpp>

namespace rb {

template <class T>
using Task = boost::asio::awaitable<T>;

}  // namespace rb
