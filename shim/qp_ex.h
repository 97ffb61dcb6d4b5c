// Counts and paces queue pairs that post through ibv_qp_ex (wr_start, wr_*, wr_complete).
//
// wr_start waits before the provider's own, which takes the queue's lock; the bytes are known only
// at wr_complete and are charged there, so the next batch pays for this one.
//
// Threading: as the queue itself, one thread between wr_start and wr_complete.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

#include "shim/fd_table.h"

namespace rb::shim {

// Replaces the functions that `send_ops` (IBV_QP_EX_WITH_*) made the provider set. A queue that
// cannot be tracked (out of memory) keeps the provider's: its bytes are then not counted.
void HookQpEx(File* file, ibv_qp_ex* qp, std::uint64_t send_ops);

}  // namespace rb::shim
