#include "shim/devices.h"

#include <fcntl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "shim/log.h"
#include "shim/process.h"
#include "shim/real.h"

namespace rb::shim {
namespace {

constexpr mode_t kNodeMode = S_IFCHR | 0666;
constexpr unsigned kBlockBytes = 4096;

int Find(const DevicePath& path, wire::GrantedDevice* device) {
  Initialise();
  return Self().session.Find(path, device);
}

// Undoes an OPEN that this process cannot keep.
void Return(const OpenedFile& opened) {
  wire::CounterSlot* slot = &opened.lease->counters->slots[opened.slot];
  File file;
  file.account = {.page = opened.lease->counters, .slot = slot};
  FdTable::GiveUp(&file);
  __atomic_sub_fetch(&opened.lease->files, 1, __ATOMIC_RELEASE);
}

}  // namespace

Whose OwnerOf(const DevicePath& path) {
  switch (path.kind) {
    case PathKind::kUverbs:
      return Whose::kOurs;
    case PathKind::kCharDevice:
      return IsUverbsNumber(path.major, path.minor) ? Whose::kOurs : Whose::kKernel;
    case PathKind::kOther:
      break;
  }
  return Whose::kKernel;
}

int StatDevice(const DevicePath& path, struct stat* status) {
  wire::GrantedDevice device{};
  const int error = Find(path, &device);
  if (error != 0) return error;
  std::memset(status, 0, sizeof(*status));
  status->st_mode = kNodeMode;
  status->st_rdev = makedev(device.major, device.minor);
  status->st_nlink = 1;
  // Any number that differs between nodes will do.
  status->st_ino = status->st_rdev;
  status->st_blksize = kBlockBytes;
  return 0;
}

int StatxDevice(const DevicePath& path, struct statx* status) {
  wire::GrantedDevice device{};
  const int error = Find(path, &device);
  if (error != 0) return error;
  std::memset(status, 0, sizeof(*status));
  status->stx_mask = STATX_TYPE | STATX_MODE | STATX_NLINK | STATX_UID | STATX_GID | STATX_INO;
  status->stx_mode = kNodeMode;
  status->stx_rdev_major = device.major;
  status->stx_rdev_minor = device.minor;
  status->stx_nlink = 1;
  status->stx_ino = makedev(device.major, device.minor);
  status->stx_blksize = kBlockBytes;
  return 0;
}

int AccessDevice(const DevicePath& path, int mode) {
  wire::GrantedDevice device{};
  const int error = Find(path, &device);
  if (error != 0) return error;
  return (mode & X_OK) != 0 ? EACCES : 0;
}

int OpenDevice(const DevicePath& path, int flags, int* fd) {
  Initialise();
  OpenedFile opened;
  const int error = Self().session.Open(path, &opened);
  if (error != 0) return error;
  const int number = opened.fd.get();
  // An entry under this number is a leftover: its file was closed behind the hooks' back.
  if (File* stale = Self().table.Remove(number)) Self().table.Finish(stale);
  if (Self().table.Insert(number, opened.lease, opened.slot, opened.device_index,
                          opened.driver_id) == nullptr) {
    Return(opened);
    return EMFILE;
  }
  if ((flags & O_CLOEXEC) == 0) real::Fcntl(Fn::kFcntl, number, F_SETFD, nullptr);
  Log(LogLevel::kInfo, "opened %s: descriptor %d, slot %u", path.node.data(), number, opened.slot);
  *fd = opened.fd.Release();
  return 0;
}

}  // namespace rb::shim
