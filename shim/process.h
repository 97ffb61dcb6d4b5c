// Everything that the shim knows about this process, in one place: a preload library has no main
// to pass things down from.
//
// Constant-initialised and never destroyed, so it is good before the first constructor and after
// the last destructor of the program. Threading: see the members.
#pragma once

#include <unistd.h>

#include "shim/config.h"
#include "shim/fd_table.h"
#include "shim/lease.h"

namespace rb::shim {

struct Process {
  Config config;
  FdTable table;
  Session session;
  pid_t owner = 0;  // the process that `table` describes; 0 before Initialise
  bool ready = false;
};

Process& Self();

// Reads the configuration and registers for fork(). Called at load and, for programs whose own
// constructors come first, at the first device path. Threading: safe.
void Initialise();

// False in a child made by vfork(), which borrows our memory: what it closes, the parent keeps.
bool OwnsTable();

}  // namespace rb::shim
