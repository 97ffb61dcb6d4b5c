#include "shim/lock.h"

#include <cerrno>

namespace rb::shim {

ErrnoGuard::ErrnoGuard() : saved_(errno) {}
ErrnoGuard::~ErrnoGuard() { errno = saved_; }

}  // namespace rb::shim
