// Saves the lease table before anything is acknowledged, several changes in one write.
//
// Save() returns once a snapshot taken at or after the call is durable. While one write is on its
// way, further calls wait and share the next. Runs on: loop; the write itself runs on the pool.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "common/base/result.h"
#include "common/runtime/async_event.h"
#include "common/runtime/blocking_pool.h"
#include "common/runtime/loop.h"
#include "common/runtime/task.h"

namespace rb::agent {

class Persistence {
 public:
  // `snapshot` is called on the loop and returns the whole file.
  Persistence(Loop& loop, BlockingPool& pool, std::string path,
              std::function<std::string()> snapshot);

  // Errors: the disk's; then the old file stands and the caller must undo or refuse what it was
  // about to do.
  Task<Result<void>> Save();

 private:
  BlockingPool& pool_;
  std::string path_;
  std::function<std::string()> snapshot_;
  AsyncEvent written_event_;
  std::uint64_t requested_ = 0;
  std::uint64_t written_ = 0;  // all requests up to this one are durable
  bool writing_ = false;
};

}  // namespace rb::agent
