#include "shim/process.h"

#include <sys/syscall.h>

#include "shim/log.h"
#include "shim/real.h"

namespace rb::shim {
namespace {

constinit Process g_process;
constinit Lock g_initialise;

void BeforeFork() { g_process.table.BeforeFork(); }
void AfterForkInParent() { g_process.table.AfterForkInParent(); }
void AfterForkInChild() {
  g_process.owner = ::getpid();
  g_initialise.Reset();
  g_process.table.AfterForkInChild();
  g_process.session.ForgetInChild();
}

using Handler = void (*)();

// pthread_atfork is part of each program in glibc (libc_nonshared.a), and a symbol of libc in musl:
// neither can be linked against for both, so it is looked up.
void RegisterForFork() {
  using RegisterAtfork = int (*)(Handler, Handler, Handler, void*);
  using PthreadAtfork = int (*)(Handler, Handler, Handler);
  if (auto glibc = reinterpret_cast<RegisterAtfork>(FindNext("__register_atfork"))) {
    glibc(BeforeFork, AfterForkInParent, AfterForkInChild, nullptr);
  } else if (auto posix = reinterpret_cast<PthreadAtfork>(FindNext("pthread_atfork"))) {
    posix(BeforeFork, AfterForkInParent, AfterForkInChild);
  }
}

}  // namespace

Process& Self() { return g_process; }

void Initialise() {
  if (__atomic_load_n(&g_process.ready, __ATOMIC_ACQUIRE)) return;
  const ErrnoGuard keep_errno;
  const LockGuard guard(&g_initialise);
  if (g_process.ready) return;
  LoadConfig(&g_process.config);
  SetLog(&g_process.config);
  g_process.session.Configure(&g_process.config);
  g_process.owner = ::getpid();
  RegisterForFork();
  __atomic_store_n(&g_process.ready, true, __ATOMIC_RELEASE);
}

bool OwnsTable() {
  // The system call: a cached getpid() would not notice the vfork.
  return g_process.owner == 0 || ::syscall(SYS_getpid) == g_process.owner;
}

}  // namespace rb::shim
