#include "shim/owned_fd.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "shim/lock.h"
#include "shim/real.h"

namespace rb::shim {

bool Identify(int fd, FileIdentity* identity) {
  const ErrnoGuard keep_errno;
  // The system call, not fstat(): that name is younger than the oldest libc we run on.
  struct stat status{};
  if (fd < 0 || ::syscall(SYS_newfstatat, fd, "", &status, AT_EMPTY_PATH) != 0) return false;
  identity->device = status.st_dev;
  identity->inode = status.st_ino;
  identity->size = static_cast<std::uint64_t>(status.st_size);
  identity->rdev = status.st_rdev;
  return true;
}

void OwnedFd::Take(UniqueFd fd) {
  Drop();
  if (Identify(fd.get(), &identity_)) fd_ = fd.Release();
}

int OwnedFd::get() const {
  FileIdentity now;
  return Identify(fd_, &now) && now.SameFile(identity_) ? fd_ : -1;
}

void OwnedFd::Drop() {
  const ErrnoGuard keep_errno;
  const int fd = get();
  fd_ = -1;
  if (fd >= 0) real::Close(fd);
}

}  // namespace rb::shim
