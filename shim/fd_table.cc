#include "shim/fd_table.h"

#include <cstdlib>

#include "shim/uverbs/decode.h"

namespace rb::shim {
namespace {

void FreeState(std::uint64_t value) { std::free(AtAddress<void>(value)); }

}  // namespace

void FdTable::Enter(int fd, std::uint16_t index) {
  const auto at = static_cast<std::size_t>(fd);
  if (at >= bound_) __atomic_store_n(&bound_, at + 1, __ATOMIC_RELEASE);
  __atomic_store_n(&index_[at], index, __ATOMIC_RELEASE);
}

File* FdTable::Insert(int fd, Lease* lease, std::uint32_t slot, std::uint32_t device_index,
                      std::uint32_t driver_id) {
  if (fd < 0 || static_cast<std::size_t>(fd) >= kDescriptorsMax) return nullptr;
  const LockGuard guard(&lock_);
  for (std::size_t i = 0; i < kFilesMax; ++i) {
    File& file = files_[i];
    if (file.in_use) continue;
    file.in_use = true;
    file.descriptors = 1;
    file.lease = lease;
    file.account = {.page = lease->counters, .slot = &lease->counters->slots[slot]};
    file.device_index = device_index;
    file.driver_id = driver_id;
    file.post_send = nullptr;
    file.create_qp_ex = nullptr;
    Enter(fd, static_cast<std::uint16_t>(i + 1));
    return &file;
  }
  return nullptr;
}

bool FdTable::Share(File* file, int fd) {
  if (fd < 0 || static_cast<std::size_t>(fd) >= kDescriptorsMax) return false;
  const LockGuard guard(&lock_);
  ++file->descriptors;
  Enter(fd, static_cast<std::uint16_t>((file - files_.data()) + 1));
  return true;
}

File* FdTable::Remove(int fd) {
  if (Find(fd) == nullptr) return nullptr;
  const LockGuard guard(&lock_);
  File* file = Find(fd);  // another thread may have been faster
  if (file == nullptr) return nullptr;
  Enter(fd, 0);
  return --file->descriptors == 0 ? file : nullptr;
}

void FdTable::GiveUp(File* file) {
  wire::CounterSlot* slot = file->account.slot;
  const std::uint32_t left = __atomic_sub_fetch(&slot->holders, 1, __ATOMIC_ACQ_REL);
  if (left == 0) {
    wire::ReturnCharges(file->account.page, slot);
    wire::StoreRelease(&slot->state, static_cast<std::uint32_t>(wire::SlotState::kClosed));
  }
}

void FdTable::Finish(File* file) {
  GiveUp(file);
  file->objects.Clear(nullptr);
  file->queues.Clear(FreeState);
  __atomic_sub_fetch(&file->lease->files, 1, __ATOMIC_RELEASE);
  const LockGuard guard(&lock_);
  file->in_use = false;
}

void FdTable::Abandon() {
  const LockGuard guard(&lock_);
  for (std::size_t fd = 0; fd < bound_; ++fd) Enter(static_cast<int>(fd), 0);
  for (File& file : files_) {
    // Without descriptors it is being finished by another thread right now.
    if (file.in_use && file.descriptors != 0) GiveUp(&file);
    file.descriptors = 0;
  }
}

void FdTable::BeforeFork() {
  lock_.Acquire();
  for (const File& file : files_) {
    if (file.in_use && file.descriptors != 0) {
      __atomic_add_fetch(&file.account.slot->holders, 1, __ATOMIC_ACQ_REL);
    }
  }
}

void FdTable::AfterForkInParent() { lock_.Release(); }

void FdTable::AfterForkInChild() { lock_.Reset(); }

}  // namespace rb::shim
