// Task<T>: the return type of every coroutine of the daemons.
//
// A task does not start until it is awaited or given to Loop::Spawn(), and runs on the loop's
// thread.
//
// Rules (GCC 12 miscompiles some forms: it destroys temporaries twice or loses parameters):
//   * parameters by value; name every aggregate and every capturing lambda before the co_await that
//     passes it, and move it in;
//   * no co_await in a while condition: await into a named value;
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
