// Which descriptors of this process are uverbs files under a lease, and what is known of each.
//
// Looking up is one load without a lock: write() and close() of every other file pass here too.
// Several descriptors (dup) lead to one File; when the last of this process goes, the file's
// charges are given back unless a forked child still holds it.
//
// Does not call close() or dup() itself: hooks.cc does, between the table's two halves.
// Threading: safe. The lock is short and never held across a system call.
#pragma once

#include <array>
#include <cstdint>

#include "shim/handle_map.h"
#include "shim/lease.h"
#include "shim/ledger.h"

namespace rb::shim {

// An open uverbs file. Lives in the table; its place is used again after Finish.
struct File {
  std::uint32_t descriptors = 0;  // of this process; guarded by the table's lock
  bool in_use = false;            // the same
  Lease* lease = nullptr;
  Account account;
  std::uint32_t device_index = 0;
  std::uint32_t driver_id = 0;  // learnt from the process's own ioctls; atomic
  HandleMap objects;            // regions: bytes + 1; queues: the library's address of them
  HandleMap queues;             // QPs whose ibv_qp_ex functions are ours: their QpExState
  // The provider's functions that ours stand in front of; atomic, null when nothing is replaced.
  void* post_send = nullptr;
  void* create_qp_ex = nullptr;
};

class FdTable {
 public:
  static constexpr std::size_t kDescriptorsMax = std::size_t{1} << 18;
  static constexpr std::size_t kFilesMax = wire::kSlotsMax;

  constexpr FdTable() = default;

  // The file behind `fd`, or null for every descriptor that is not ours.
  File* Find(int fd) const {
    if (fd < 0 || static_cast<std::size_t>(fd) >= kDescriptorsMax) return nullptr;
    const std::uint16_t index =
        __atomic_load_n(&index_[static_cast<std::size_t>(fd)], __ATOMIC_ACQUIRE);
    return index == 0 ? nullptr : const_cast<File*>(&files_[index - 1U]);
  }

  // Enters a file just opened. Null when the number or the files exceed the table.
  File* Insert(int fd, Lease* lease, std::uint32_t slot, std::uint32_t device_index,
               std::uint32_t driver_id);

  // `fd` is now another descriptor of `file`. False when the number exceeds the table.
  bool Share(File* file, int fd);

  // Takes `fd` out, before the real close() lets another thread have the number. Returns the file
  // when that was its last descriptor here: call Finish on it once it is really closed.
  File* Remove(int fd);

  // Gives up this process's hold: the last holder gives the charges back.
  static void GiveUp(File* file);
  // GiveUp, then frees the file's place.
  void Finish(File* file);

  // At the process's normal end: gives up every hold without waiting for the agent to notice, so
  // that the next program finds its units free. Whatever is called after that is the kernel's
  // alone.
  void Abandon();

  // Highest descriptor ever entered + 1, so that close_range need not look further.
  std::size_t bound() const { return __atomic_load_n(&bound_, __ATOMIC_ACQUIRE); }

  // Around fork(). The child's hold is taken before the fork, so that the parent cannot become the
  // last holder in between. A fork that fails leaves one hold too many; the agent settles that slot
  // when the kernel shows the context gone.
  void BeforeFork();
  void AfterForkInParent();
  void AfterForkInChild();

 private:
  void Enter(int fd, std::uint16_t index);

  Lock lock_;
  std::size_t bound_ = 0;
  std::array<File, kFilesMax> files_{};
  std::array<std::uint16_t, kDescriptorsMax> index_{};
};

}  // namespace rb::shim
