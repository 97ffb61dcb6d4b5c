// Owns one file descriptor and closes it.
//
// Shim-safe: no exceptions, no allocation. Moves; does not copy.
// Threading: thread-compatible (LevelDB's contract: const methods may be shared, others need a
// lock).
#pragma once

#include <unistd.h>

#include <utility>

namespace rb {

class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  ~UniqueFd() { Reset(); }

  UniqueFd(const UniqueFd&) = delete;
  UniqueFd& operator=(const UniqueFd&) = delete;
  UniqueFd(UniqueFd&& other) noexcept : fd_(other.Release()) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) Reset(other.Release());
    return *this;
  }

  // The descriptor, still owned here; -1 when empty.
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

  // Gives the descriptor away; the caller closes it.
  [[nodiscard]] int Release() { return std::exchange(fd_, -1); }

  // Closes what is held and takes `fd`. Never retries on EINTR: Linux has freed the number by then.
  void Reset(int fd = -1) {
    const int old = std::exchange(fd_, fd);
    if (old >= 0) ::close(old);
  }

 private:
  int fd_ = -1;
};

}  // namespace rb
