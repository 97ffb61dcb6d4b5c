#include "shim/real.h"

#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdarg>

// glibc 2.34 moved dlsym and dlopen into libc.so.6 under a new version. The old version exists in
// every glibc, in libdl.so.2 before 2.34, so the shared object is linked against libdl.so.2 too
// (CMakeLists.txt). musl ignores versions and answers to the name libdl.so.2 itself.
#if defined(RB_SHIM_SHARED) && defined(__x86_64__)
__asm__(".symver dlsym, dlsym@GLIBC_2.2.5");
__asm__(".symver dlopen, dlopen@GLIBC_2.2.5");
#elif defined(RB_SHIM_SHARED) && defined(__aarch64__)
__asm__(".symver dlsym, dlsym@GLIBC_2.17");
__asm__(".symver dlopen, dlopen@GLIBC_2.17");
#endif

namespace rb::shim {
namespace {

constexpr std::array<const char*, kFnCount> kNames{
    "open",       "open64",       "openat",     "openat64",  "__open_2",  "__open64_2",
    "__openat_2", "__openat64_2", "stat",       "stat64",    "lstat",     "lstat64",
    "fstatat",    "fstatat64",    "__xstat",    "__xstat64", "__lxstat",  "__lxstat64",
    "__fxstatat", "__fxstatat64", "statx",      "access",    "faccessat", "euidaccess",
    "ioctl",      "write",        "close",      "dup",       "dup2",      "dup3",
    "fcntl",      "fcntl64",      "close_range"};

std::array<void*, kFnCount> g_functions{};
bool g_resolved = false;
thread_local bool t_resolving = false;

void Resolve() {
  t_resolving = true;
  for (std::size_t i = 0; i < kFnCount; ++i) {
    __atomic_store_n(&g_functions[i], FindNext(kNames[i]), __ATOMIC_RELAXED);
  }
  __atomic_store_n(&g_resolved, true, __ATOMIC_RELEASE);
  t_resolving = false;
}

template <typename F>
F* Find(Fn fn) {
  return reinterpret_cast<F*>(Real(fn));
}

// The system call behind a missing function; sets errno as libc would.
template <typename... Args>
long Kernel(long number, Args... args) {
  return ::syscall(number, args...);
}

}  // namespace

void* Real(Fn fn) {
  if (!__atomic_load_n(&g_resolved, __ATOMIC_ACQUIRE)) {
    if (t_resolving) return nullptr;
    const int saved = errno;
    Resolve();
    errno = saved;
  }
  return __atomic_load_n(&g_functions[static_cast<std::size_t>(fn)], __ATOMIC_RELAXED);
}

void* FindNext(const char* name) { return ::dlsym(RTLD_NEXT, name); }

void* FindInLibibverbs(const char* name) {
  void* found = FindNext(name);
  if (found != nullptr) return found;
  void* library = ::dlopen("libibverbs.so.1", RTLD_NOW | RTLD_NOLOAD);
  return library == nullptr ? nullptr : ::dlsym(library, name);
}

namespace real {

int Open(Fn fn, const char* path, int flags, mode_t mode) {
  if (fn == Fn::kOpen2 || fn == Fn::kOpen642) {
    if (auto* two = Find<int(const char*, int)>(fn)) return two(path, flags);
  } else if (auto* open = Find<int(const char*, int, ...)>(fn)) {
    return open(path, flags, mode);
  }
  return static_cast<int>(Kernel(SYS_openat, AT_FDCWD, path, flags, mode));
}

int OpenAt(Fn fn, int directory, const char* path, int flags, mode_t mode) {
  if (fn == Fn::kOpenAt2 || fn == Fn::kOpenAt642) {
    if (auto* two = Find<int(int, const char*, int)>(fn)) return two(directory, path, flags);
  } else if (auto* openat = Find<int(int, const char*, int, ...)>(fn)) {
    return openat(directory, path, flags, mode);
  }
  return static_cast<int>(Kernel(SYS_openat, directory, path, flags, mode));
}

int Stat(Fn fn, const char* path, struct stat* status) {
  if (auto* stat = Find<int(const char*, struct stat*)>(fn)) return stat(path, status);
  const bool link = fn == Fn::kLstat || fn == Fn::kLstat64;
  return static_cast<int>(
      Kernel(SYS_newfstatat, AT_FDCWD, path, status, link ? AT_SYMLINK_NOFOLLOW : 0));
}

int StatAt(Fn fn, int directory, const char* path, struct stat* status, int flags) {
  if (auto* fstatat = Find<int(int, const char*, struct stat*, int)>(fn)) {
    return fstatat(directory, path, status, flags);
  }
  return static_cast<int>(Kernel(SYS_newfstatat, directory, path, status, flags));
}

int Xstat(Fn fn, int version, const char* path, struct stat* status) {
  if (auto* xstat = Find<int(int, const char*, struct stat*)>(fn)) {
    return xstat(version, path, status);
  }
  const bool link = fn == Fn::kLxstat || fn == Fn::kLxstat64;
  return static_cast<int>(
      Kernel(SYS_newfstatat, AT_FDCWD, path, status, link ? AT_SYMLINK_NOFOLLOW : 0));
}

int XstatAt(Fn fn, int version, int directory, const char* path, struct stat* status, int flags) {
  if (auto* fxstatat = Find<int(int, int, const char*, struct stat*, int)>(fn)) {
    return fxstatat(version, directory, path, status, flags);
  }
  return static_cast<int>(Kernel(SYS_newfstatat, directory, path, status, flags));
}

int StatX(int directory, const char* path, int flags, unsigned mask, struct statx* status) {
  if (auto* statx = Find<int(int, const char*, int, unsigned, struct statx*)>(Fn::kStatX)) {
    return statx(directory, path, flags, mask, status);
  }
  return static_cast<int>(Kernel(SYS_statx, directory, path, flags, mask, status));
}

int Access(const char* path, int mode) {
  if (auto* access = Find<int(const char*, int)>(Fn::kAccess)) return access(path, mode);
  return static_cast<int>(Kernel(SYS_faccessat, AT_FDCWD, path, mode));
}

int AccessAt(int directory, const char* path, int mode, int flags) {
  if (auto* faccessat = Find<int(int, const char*, int, int)>(Fn::kFaccessAt)) {
    return faccessat(directory, path, mode, flags);
  }
  return static_cast<int>(Kernel(SYS_faccessat, directory, path, mode));
}

int EuidAccess(const char* path, int mode) {
  if (auto* euidaccess = Find<int(const char*, int)>(Fn::kEuidAccess)) {
    return euidaccess(path, mode);
  }
  return AccessAt(AT_FDCWD, path, mode, AT_EACCESS);
}

int Ioctl(int fd, unsigned long request, void* argument) {
  if (auto* ioctl = Find<int(int, unsigned long, ...)>(Fn::kIoctl)) {
    return ioctl(fd, request, argument);
  }
  return static_cast<int>(Kernel(SYS_ioctl, fd, request, argument));
}

ssize_t Write(int fd, const void* buffer, std::size_t bytes) {
  if (auto* write = Find<ssize_t(int, const void*, std::size_t)>(Fn::kWrite)) {
    return write(fd, buffer, bytes);
  }
  return Kernel(SYS_write, fd, buffer, bytes);
}

int Close(int fd) {
  if (auto* close = Find<int(int)>(Fn::kClose)) return close(fd);
  return static_cast<int>(Kernel(SYS_close, fd));
}

int Dup(int fd) {
  if (auto* dup = Find<int(int)>(Fn::kDup)) return dup(fd);
  return static_cast<int>(Kernel(SYS_dup, fd));
}

int Dup2(int from, int to) {
  if (auto* dup2 = Find<int(int, int)>(Fn::kDup2)) return dup2(from, to);
  // dup3 refuses equal numbers, dup2 only checks them.
  if (from == to) return Fcntl(Fn::kFcntl, from, F_GETFD, nullptr) < 0 ? -1 : to;
  return static_cast<int>(Kernel(SYS_dup3, from, to, 0));
}

int Dup3(int from, int to, int flags) {
  if (auto* dup3 = Find<int(int, int, int)>(Fn::kDup3)) return dup3(from, to, flags);
  return static_cast<int>(Kernel(SYS_dup3, from, to, flags));
}

int Fcntl(Fn fn, int fd, int command, void* argument) {
  if (auto* fcntl = Find<int(int, int, ...)>(fn)) return fcntl(fd, command, argument);
  return static_cast<int>(Kernel(SYS_fcntl, fd, command, argument));
}

int CloseRange(unsigned first, unsigned last, unsigned flags) {
  if (auto* close_range = Find<int(unsigned, unsigned, unsigned)>(Fn::kCloseRange)) {
    return close_range(first, last, flags);
  }
  return static_cast<int>(Kernel(SYS_close_range, first, last, flags));
}

}  // namespace real
}  // namespace rb::shim
