// Runs one task on a loop and returns what it returned.
//
//   Loop loop;
//   EXPECT_EQ(RunTask(loop, pool.Run([] { return 3; })), 3);
#pragma once

#include <optional>
#include <utility>

#include "common/base/result.h"
#include "common/runtime/loop.h"
#include "common/runtime/task.h"

namespace rb::test {

template <class T>
Task<void> KeepResult(Task<T> task, std::optional<T>* result) {
  result->emplace(co_await std::move(task));
}

// REQUIRES: the task ends by itself; the test's timeout catches one that does not.
template <class T>
T RunTask(Loop& loop, Task<T> task) {
  std::optional<T> result;
  loop.RunUntil(KeepResult(std::move(task), &result));
  RB_CHECK(result.has_value());
  return std::move(*result);
}

inline void RunTask(Loop& loop, Task<void> task) { loop.RunUntil(std::move(task)); }

}  // namespace rb::test
