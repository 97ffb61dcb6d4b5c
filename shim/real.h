// The libc functions behind our hooks, found once with dlsym(RTLD_NEXT), and how to call them.
//
// A libc that lacks one (musl has no __xstat, glibc before 2.34 no close_range) leaves a null;
// the functions in real:: then make the system call themselves, so a hook never fails for want of
// a function. Also the way for the rest of the shim to reach the kernel past our own hooks.
//
// Threading: safe. Several threads may resolve at once; each finds the same addresses.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace rb::shim {

static_assert(sizeof(void*) == 8 && sizeof(off_t) == 8, "the …64 names are the plain ones");

enum class Fn : std::uint8_t {
  kOpen,
  kOpen64,
  kOpenAt,
  kOpenAt64,
  kOpen2,
  kOpen642,
  kOpenAt2,
  kOpenAt642,
  kStat,
  kStat64,
  kLstat,
  kLstat64,
  kFstatAt,
  kFstatAt64,
  kXstat,
  kXstat64,
  kLxstat,
  kLxstat64,
  kFxstatAt,
  kFxstatAt64,
  kStatX,
  kAccess,
  kFaccessAt,
  kEuidAccess,
  kIoctl,
  kWrite,
  kClose,
  kDup,
  kDup2,
  kDup3,
  kFcntl,
  kFcntl64,
  kCloseRange,
};
inline constexpr std::size_t kFnCount = 33;

// The address of the next definition of `fn`; null when no libc has it, and while this very thread
// is looking functions up (the look-up may allocate, and an allocator may open files).
void* Real(Fn fn);

// Any other symbol of the objects after the shim; null when there is none.
void* FindNext(const char* name);

// `name` in libibverbs, also when that was loaded privately (dlopen with RTLD_LOCAL, as NCCL
// does), where RTLD_NEXT does not look.
void* FindInLibibverbs(const char* name);

// Each calls the libc's function or, without one, the kernel. errno and result as they set it.
namespace real {

int Open(Fn fn, const char* path, int flags, mode_t mode);
int OpenAt(Fn fn, int directory, const char* path, int flags, mode_t mode);
int Stat(Fn fn, const char* path, struct stat* status);
int StatAt(Fn fn, int directory, const char* path, struct stat* status, int flags);
int Xstat(Fn fn, int version, const char* path, struct stat* status);
int XstatAt(Fn fn, int version, int directory, const char* path, struct stat* status, int flags);
int StatX(int directory, const char* path, int flags, unsigned mask, struct statx* status);
int Access(const char* path, int mode);
int AccessAt(int directory, const char* path, int mode, int flags);
int EuidAccess(const char* path, int mode);
int Ioctl(int fd, unsigned long request, void* argument);
ssize_t Write(int fd, const void* buffer, std::size_t bytes);
int Close(int fd);
int Dup(int fd);
int Dup2(int from, int to);
int Dup3(int from, int to, int flags);
int Fcntl(Fn fn, int fd, int command, void* argument);
int CloseRange(unsigned first, unsigned last, unsigned flags);

}  // namespace real
}  // namespace rb::shim
