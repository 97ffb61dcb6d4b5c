// A descriptor of ours in somebody else's process, where any code may close any number.
//
// Programs that become daemons close every descriptor, ours too, and the number is then given to a
// file of theirs. So the descriptor is remembered with the identity of its file, and is used or
// closed only while that still matches. Trivially destructible: it may live in a global.
//
// Threading: thread-compatible.
#pragma once

#include <cstdint>

#include "common/bare/unique_fd.h"

namespace rb::shim {

struct FileIdentity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t size = 0;
  std::uint64_t rdev = 0;

  bool SameFile(const FileIdentity& other) const {
    return device == other.device && inode == other.inode;
  }
};

// False when `fd` is not open. Keeps errno.
bool Identify(int fd, FileIdentity* identity);

class OwnedFd {
 public:
  constexpr OwnedFd() = default;

  // Takes `fd`, dropping what was held.
  void Take(UniqueFd fd);

  // The descriptor while it is still the file that was taken; -1 otherwise.
  int get() const;

  // Closes what is held if it is still ours.
  void Drop();

 private:
  int fd_ = -1;
  FileIdentity identity_{};
};

}  // namespace rb::shim
