#include "agent/control/persistence.h"

#include <utility>

#include "agent/lease/checkpoint_file.h"

namespace rb::agent {

Persistence::Persistence(Loop& loop, BlockingPool& pool, std::string path,
                         std::function<std::string()> snapshot)
    : pool_(pool), path_(std::move(path)), snapshot_(std::move(snapshot)), written_event_(loop) {}

Task<Result<void>> Persistence::Save() {
  const std::uint64_t mine = ++requested_;
  while (written_ < mine) {
    if (writing_) {
      co_await written_event_.Wait();
      continue;
    }
    writing_ = true;
    const std::uint64_t covered = requested_;
    auto write = [path = path_, content = snapshot_()] { return SaveCheckpoint(path, content); };
    auto saved = co_await pool_.Run(std::move(write));
    writing_ = false;
    if (saved) written_ = covered;
    written_event_.NotifyAll();
    if (!saved) co_return tl::unexpected(saved.error());
  }
  co_return Result<void>{};
}

}  // namespace rb::agent
