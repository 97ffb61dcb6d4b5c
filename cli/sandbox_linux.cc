#include "cli/sandbox_linux.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <string>

#include "common/bare/unique_fd.h"

namespace rb::cli {
namespace {

constexpr const char* kDevices = "/dev/infiniband";
constexpr const char* kRdmaCm = "/dev/infiniband/rdma_cm";

Result<void> MountEmpty() {
  // The folder may be missing while no device is there; one that comes later must not show.
  if (::mkdir(kDevices, 0755) != 0 && errno != EEXIST) {
    return FailErrno(std::string("create ") + kDevices, errno);
  }
  constexpr unsigned long kFlags = MS_NOSUID | MS_NOEXEC | MS_NODEV;
  if (::mount("none", kDevices, "tmpfs", kFlags, "mode=0755,size=4k,nr_inodes=16") != 0) {
    return FailErrno(std::string("mount an empty ") + kDevices, errno);
  }
  return {};
}

// Bind-mounts what `source` (opened before it was hidden) stands for.
Result<void> BindRdmaCm(int source) {
  const UniqueFd target(::open(kRdmaCm, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  if (!target) return FailErrno(std::string("create ") + kRdmaCm, errno);
  const std::string from = "/proc/self/fd/" + std::to_string(source);
  if (::mount(from.c_str(), kRdmaCm, nullptr, MS_BIND, nullptr) != 0) {
    return FailErrno(std::string("bind ") + kRdmaCm, errno);
  }
  return {};
}

Result<void> DropCapabilities() {
  for (int capability = 0; ::prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; ++capability) {
    if (::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0) {
      return FailErrno("drop bounding capability", errno);
    }
  }
  if (::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0) {
    return FailErrno("clear ambient capabilities", errno);
  }
  return {};
}

// Also for uid 0, whose capabilities setresuid leaves alone.
Result<void> ClearCapabilities() {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  const std::array<__user_cap_data_struct, 2> none{};
  if (::syscall(SYS_capset, &header, none.data()) != 0) {
    return FailErrno("clear capabilities", errno);
  }
  return {};
}

}  // namespace

Result<void> HideDevices(bool keep_rdma_cm) {
  if (::unshare(CLONE_NEWNS) != 0) return FailErrno("make a mount namespace", errno);
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0) {
    return FailErrno("keep mounts private", errno);
  }
  // Opened inside the new namespace: a bind mount's source cannot lie in another one.
  UniqueFd rdma_cm;
  if (keep_rdma_cm) {
    rdma_cm.Reset(::open(kRdmaCm, O_PATH | O_CLOEXEC));
    if (!rdma_cm) return FailErrno(std::string("open ") + kRdmaCm, errno);
  }
  RB_TRY_VOID(MountEmpty());
  if (keep_rdma_cm) {
    RB_TRY_VOID(BindRdmaCm(rdma_cm.get()));
  }
  constexpr unsigned long kFlags =
      MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NOEXEC | MS_NODEV;
  if (::mount(nullptr, kDevices, nullptr, kFlags, nullptr) != 0) {
    return FailErrno(std::string("make read-only ") + kDevices, errno);
  }
  return {};
}

Result<void> BecomeUser(uid_t uid, gid_t gid) {
  RB_TRY_VOID(DropCapabilities());
  if (::setgroups(0, nullptr) != 0) return FailErrno("clear groups", errno);
  if (::setresgid(gid, gid, gid) != 0) return FailErrno("change group", errno);
  if (::setresuid(uid, uid, uid) != 0) return FailErrno("change user", errno);
  return ClearCapabilities();
}

Result<void> ForbidNewPrivileges() {
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return FailErrno("set no_new_privs", errno);
  return {};
}

Result<void> DieWithParent(pid_t parent) {
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0) return FailErrno("set pdeathsig", errno);
  // It may have died before the line above.
  if (::getppid() != parent) return Fail(ErrorCode::kNotFound, "rdmactl is gone");
  return {};
}

}  // namespace rb::cli
