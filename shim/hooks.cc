// The exported symbols of librdma-shim.so, and nothing else. shim.map exports the same list.
//
// Rules for code that runs inside somebody else's program:
//   * A path, request or descriptor that is not ours goes straight to the real function.
//   * No exceptions, no libstdc++, no thread, no abort, nothing on standard output.
//   * errno and results are exactly what the man page of the real function says; a hook that
//     succeeds leaves errno alone.
//   * No lock is held across a real call. The table's entry of a descriptor is removed before the
//     real close(), because the number can be reused the moment it is free.
//   * Signal handlers: write, close, dup and the like on descriptors that are not ours take no
//     lock and are as safe as the real ones. Opening or closing an RDMA device, or forking while
//     one is open, is not safe in a handler.
//   * Our C names differ from the symbols (asm labels), so that no libc header can disagree about
//     a prototype or an exception specification.
//
// Not hooked, and why: fstat (a passed descriptor answers by itself), opendir and inotify
// (libibverbs does not need them), mmap (nothing to decide), fopen (no RDMA library uses it).

#include <fcntl.h>
#include <rdma/rdma_user_ioctl_cmds.h>

#include <cerrno>
#include <cstdarg>
#include <cstdint>

#include "shim/control.h"
#include "shim/data_path.h"
#include "shim/devices.h"
#include "shim/process.h"
#include "shim/real.h"

#define RB_HOOK(result, function, symbol, ...)                                                    \
  extern "C" __attribute__((visibility("default"))) result function(__VA_ARGS__) __asm__(symbol); \
  extern "C" result function(__VA_ARGS__)

namespace rb::shim {
namespace {

__attribute__((constructor)) void Load() {
  Real(Fn::kOpen);  // look everything up now rather than inside somebody's first open()
  Initialise();
}

// Runs after the program's own destructors, because we need nothing but libc and were loaded first.
__attribute__((destructor)) void Unload() {
  if (OwnsTable()) Self().table.Abandon();
}

int Fail(int error) {
  errno = error;
  return -1;
}

int ResultOf(int error) { return error == 0 ? 0 : Fail(error); }

// The answer for an open of one of our paths.
int Open(const DevicePath& path, int flags) {
  if ((flags & O_DIRECTORY) != 0) return Fail(ENOTDIR);
  int fd = -1;
  const int error = OpenDevice(path, flags, &fd);
  return error == 0 ? fd : Fail(error);
}

bool IsOurs(const char* text, DevicePath* path) {
  *path = ParseDevicePath(text);
  return path->kind != PathKind::kOther && OwnerOf(*path) == Whose::kOurs;
}

int OpenHook(Fn fn, const char* text, int flags, mode_t mode) {
  DevicePath path;
  return IsOurs(text, &path) ? Open(path, flags) : real::Open(fn, text, flags, mode);
}

// An absolute path makes the directory irrelevant; a relative one is the kernel's.
int OpenAtHook(Fn fn, int directory, const char* text, int flags, mode_t mode) {
  DevicePath path;
  return IsOurs(text, &path) ? Open(path, flags) : real::OpenAt(fn, directory, text, flags, mode);
}

// Reads the mode that open() carries only when it may create a file.
mode_t ModeOf(int flags, va_list arguments) {
  const bool creates = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
  return creates ? static_cast<mode_t>(va_arg(arguments, unsigned)) : 0;
}

int StatHook(Fn fn, const char* text, struct stat* status) {
  DevicePath path;
  return IsOurs(text, &path) ? ResultOf(StatDevice(path, status)) : real::Stat(fn, text, status);
}

int StatAtHook(Fn fn, int directory, const char* text, struct stat* status, int flags) {
  DevicePath path;
  return IsOurs(text, &path) ? ResultOf(StatDevice(path, status))
                             : real::StatAt(fn, directory, text, status, flags);
}

int XstatHook(Fn fn, int version, const char* text, struct stat* status) {
  DevicePath path;
  return IsOurs(text, &path) ? ResultOf(StatDevice(path, status))
                             : real::Xstat(fn, version, text, status);
}

// The file of a descriptor that this process may account for; null otherwise.
File* OurFile(int fd) {
  File* file = Self().table.Find(fd);
  return file != nullptr && OwnsTable() ? file : nullptr;
}

// `to` is a new descriptor of `file`. A number beyond the table cannot be watched, so it is
// refused.
int Share(File* file, int to) {
  if (to < 0 || Self().table.Share(file, to)) return to;
  real::Close(to);
  return Fail(EMFILE);
}

// dup2 and dup3: the kernel closes `to` on the way.
template <typename Call>
int Replace(int from, int to, Call call) {
  File* source = OurFile(from);
  File* target = OurFile(to);
  if ((source == nullptr && target == nullptr) || from == to) return call();
  const int result = call();
  if (result < 0) return result;
  const ErrnoGuard keep_errno;
  if (target != nullptr) {
    if (File* last = Self().table.Remove(to)) Self().table.Finish(last);
  }
  return source == nullptr ? result : Share(source, result);
}

bool Duplicates(int command) { return command == F_DUPFD || command == F_DUPFD_CLOEXEC; }

int FcntlHook(Fn fn, int fd, int command, void* argument) {
  File* file = Duplicates(command) ? OurFile(fd) : nullptr;
  const int result = real::Fcntl(fn, fd, command, argument);
  return file == nullptr ? result : Share(file, result);
}

// Drops the entries of a range before the kernel closes it.
void ForgetRange(std::size_t first, std::size_t last) {
  const std::size_t bound = Self().table.bound();
  for (std::size_t fd = first; fd < bound && fd <= last; ++fd) {
    File* file = OurFile(static_cast<int>(fd));
    if (file == nullptr) continue;
    if (File* gone = Self().table.Remove(static_cast<int>(fd))) {
      real::Close(static_cast<int>(fd));  // so that the charges go back after the real close
      Self().table.Finish(gone);
    }
  }
}

using SetOps = void (*)(verbs_context*, const void*);

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the hooks are named after what they hook
// NOLINTBEGIN(cert-dcl50-cpp): open, ioctl and fcntl are variadic by their man pages

RB_HOOK(int, Hook_open, "open", const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = ModeOf(flags, arguments);
  va_end(arguments);
  return OpenHook(Fn::kOpen, path, flags, mode);
}

RB_HOOK(int, Hook_open64, "open64", const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = ModeOf(flags, arguments);
  va_end(arguments);
  return OpenHook(Fn::kOpen64, path, flags, mode);
}

RB_HOOK(int, Hook_openat, "openat", int directory, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = ModeOf(flags, arguments);
  va_end(arguments);
  return OpenAtHook(Fn::kOpenAt, directory, path, flags, mode);
}

RB_HOOK(int, Hook_openat64, "openat64", int directory, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = ModeOf(flags, arguments);
  va_end(arguments);
  return OpenAtHook(Fn::kOpenAt64, directory, path, flags, mode);
}

RB_HOOK(int, Hook_open_2, "__open_2", const char* path, int flags) {
  return OpenHook(Fn::kOpen2, path, flags, 0);
}

RB_HOOK(int, Hook_open64_2, "__open64_2", const char* path, int flags) {
  return OpenHook(Fn::kOpen642, path, flags, 0);
}

RB_HOOK(int, Hook_openat_2, "__openat_2", int directory, const char* path, int flags) {
  return OpenAtHook(Fn::kOpenAt2, directory, path, flags, 0);
}

RB_HOOK(int, Hook_openat64_2, "__openat64_2", int directory, const char* path, int flags) {
  return OpenAtHook(Fn::kOpenAt642, directory, path, flags, 0);
}

RB_HOOK(int, Hook_stat, "stat", const char* path, struct stat* status) {
  return StatHook(Fn::kStat, path, status);
}

RB_HOOK(int, Hook_stat64, "stat64", const char* path, struct stat* status) {
  return StatHook(Fn::kStat64, path, status);
}

RB_HOOK(int, Hook_lstat, "lstat", const char* path, struct stat* status) {
  return StatHook(Fn::kLstat, path, status);
}

RB_HOOK(int, Hook_lstat64, "lstat64", const char* path, struct stat* status) {
  return StatHook(Fn::kLstat64, path, status);
}

RB_HOOK(int, Hook_fstatat, "fstatat", int directory, const char* path, struct stat* status,
        int flags) {
  return StatAtHook(Fn::kFstatAt, directory, path, status, flags);
}

RB_HOOK(int, Hook_fstatat64, "fstatat64", int directory, const char* path, struct stat* status,
        int flags) {
  return StatAtHook(Fn::kFstatAt64, directory, path, status, flags);
}

RB_HOOK(int, Hook_xstat, "__xstat", int version, const char* path, struct stat* status) {
  return XstatHook(Fn::kXstat, version, path, status);
}

RB_HOOK(int, Hook_xstat64, "__xstat64", int version, const char* path, struct stat* status) {
  return XstatHook(Fn::kXstat64, version, path, status);
}

RB_HOOK(int, Hook_lxstat, "__lxstat", int version, const char* path, struct stat* status) {
  return XstatHook(Fn::kLxstat, version, path, status);
}

RB_HOOK(int, Hook_lxstat64, "__lxstat64", int version, const char* path, struct stat* status) {
  return XstatHook(Fn::kLxstat64, version, path, status);
}

RB_HOOK(int, Hook_fxstatat, "__fxstatat", int version, int directory, const char* text,
        struct stat* status, int flags) {
  DevicePath path;
  return IsOurs(text, &path)
             ? ResultOf(StatDevice(path, status))
             : real::XstatAt(Fn::kFxstatAt, version, directory, text, status, flags);
}

RB_HOOK(int, Hook_fxstatat64, "__fxstatat64", int version, int directory, const char* text,
        struct stat* status, int flags) {
  DevicePath path;
  return IsOurs(text, &path)
             ? ResultOf(StatDevice(path, status))
             : real::XstatAt(Fn::kFxstatAt64, version, directory, text, status, flags);
}

RB_HOOK(int, Hook_statx, "statx", int directory, const char* text, int flags, unsigned mask,
        struct statx* status) {
  DevicePath path;
  return IsOurs(text, &path) ? ResultOf(StatxDevice(path, status))
                             : real::StatX(directory, text, flags, mask, status);
}

RB_HOOK(int, Hook_access, "access", const char* text, int mode) {
  DevicePath path;
  return IsOurs(text, &path) ? ResultOf(AccessDevice(path, mode)) : real::Access(text, mode);
}

RB_HOOK(int, Hook_faccessat, "faccessat", int directory, const char* text, int mode, int flags) {
  DevicePath path;
  return IsOurs(text, &path) ? ResultOf(AccessDevice(path, mode))
                             : real::AccessAt(directory, text, mode, flags);
}

RB_HOOK(int, Hook_euidaccess, "euidaccess", const char* text, int mode) {
  DevicePath path;
  return IsOurs(text, &path) ? ResultOf(AccessDevice(path, mode)) : real::EuidAccess(text, mode);
}

RB_HOOK(int, Hook_ioctl, "ioctl", int fd, unsigned long request, ...) {
  va_list arguments;
  va_start(arguments, request);
  void* argument = va_arg(arguments, void*);
  va_end(arguments);
  // musl declares the request as int: its upper half is then whatever the register held.
  if (static_cast<std::uint32_t>(request) == RDMA_VERBS_IOCTL) {
    if (File* file = Self().table.Find(fd)) {
      return ControlIoctl(KernelIoctl, file, fd, static_cast<ib_uverbs_ioctl_hdr*>(argument));
    }
  }
  return real::Ioctl(fd, request, argument);
}

RB_HOOK(ssize_t, Hook_write, "write", int fd, const void* buffer, std::size_t bytes) {
  File* file = Self().table.Find(fd);
  return file == nullptr ? real::Write(fd, buffer, bytes)
                         : ControlWrite(KernelIoctl, file, fd, buffer, bytes);
}

RB_HOOK(int, Hook_close, "close", int fd) {
  if (OurFile(fd) == nullptr) return real::Close(fd);
  File* last = Self().table.Remove(fd);
  const int result = real::Close(fd);
  if (last != nullptr) {
    const ErrnoGuard keep_errno;
    Self().table.Finish(last);
  }
  return result;
}

RB_HOOK(int, Hook_dup, "dup", int fd) {
  File* file = OurFile(fd);
  const int result = real::Dup(fd);
  return file == nullptr ? result : Share(file, result);
}

RB_HOOK(int, Hook_dup2, "dup2", int from, int to) {
  return Replace(from, to, [from, to] { return real::Dup2(from, to); });
}

RB_HOOK(int, Hook_dup3, "dup3", int from, int to, int flags) {
  return Replace(from, to, [from, to, flags] { return real::Dup3(from, to, flags); });
}

RB_HOOK(int, Hook_fcntl, "fcntl", int fd, int command, ...) {
  va_list arguments;
  va_start(arguments, command);
  void* argument = va_arg(arguments, void*);
  va_end(arguments);
  return FcntlHook(Fn::kFcntl, fd, command, argument);
}

RB_HOOK(int, Hook_fcntl64, "fcntl64", int fd, int command, ...) {
  va_list arguments;
  va_start(arguments, command);
  void* argument = va_arg(arguments, void*);
  va_end(arguments);
  return FcntlHook(Fn::kFcntl64, fd, command, argument);
}

RB_HOOK(int, Hook_close_range, "close_range", unsigned first, unsigned last, unsigned flags) {
  constexpr unsigned kCloseOnExec = 1U << 2;  // CLOSE_RANGE_CLOEXEC: marks, closes nothing
  if ((flags & kCloseOnExec) == 0 && first <= last) ForgetRange(first, last);
  return real::CloseRange(first, last, flags);
}

RB_HOOK(void, Hook_verbs_set_ops, "verbs_set_ops", verbs_context* context, const void* ops) {
  static SetOps real_set_ops = nullptr;
  SetOps set_ops = __atomic_load_n(&real_set_ops, __ATOMIC_ACQUIRE);
  if (set_ops == nullptr) {
    set_ops = reinterpret_cast<SetOps>(FindInLibibverbs("verbs_set_ops"));
    if (set_ops == nullptr) return;
    __atomic_store_n(&real_set_ops, set_ops, __ATOMIC_RELEASE);
  }
  set_ops(context, ops);
  HookContext(context);
}

// NOLINTEND(cert-dcl50-cpp)
// NOLINTEND(readability-identifier-naming)

}  // namespace rb::shim
