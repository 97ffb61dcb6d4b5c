// The cgroups of leases: who is in, what the kernel lets them hold, and how to end them.
//
// One cgroup per lease below the agent's own root (`/sys/fs/cgroup/rdma-broker/<lease>`), or one
// that exists already (a lease with a cgroup selector), which is then only used, never made or
// removed. Limits, kill and counts all key on it. What a lease may hold is decided elsewhere.
//
// Threading: thread-compatible; calls may block for milliseconds (cgroup migration waits for RCU).
// Source: kernel Documentation/admin-guide/cgroup-v2.rst (RDMA, cgroup.kill), kernel/cgroup/rdma.c.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"

namespace rb::agent {

// rdma.max of one device; absent: "max".
struct RdmaMax {
  std::optional<std::uint64_t> hca_handles;  // contexts
  std::optional<std::uint64_t> hca_objects;  // all objects together
  bool operator==(const RdmaMax&) const = default;
};

// rdma.current of one device: the kernel's own count of what the cgroup's processes created.
struct RdmaCurrent {
  std::uint64_t hca_handles = 0;
  std::uint64_t hca_objects = 0;
  bool operator==(const RdmaCurrent&) const = default;
};

// "rxe0 hca_handle=1 hca_object=4" lines, by device. Lines of devices that hold nothing are absent
// in some kernels and zero in others. Errors: kCorrupt.
Result<std::map<std::string, RdmaCurrent>> ParseRdmaCurrent(std::string_view text);

// "rxe0 hca_handle=2 hca_object=max\n", as rdma.max wants it.
std::string FormatRdmaMax(const std::string& device, const RdmaMax& max);

class LeaseCgroups {
 public:
  virtual ~LeaseCgroups() = default;

  // Makes the lease's cgroup (success when it is there already) and returns its path below the
  // mount.
  virtual Result<std::string> Create(const std::string& lease) = 0;

  // The calls below take such a path. Errors of all: kNotFound, the cgroup is gone.
  virtual Result<void> Enter(const std::string& path, pid_t pid) = 0;
  // Every process in the cgroup and below it.
  virtual Result<std::vector<pid_t>> Processes(const std::string& path) = 0;
  // Errors: kUnsupported, no rdma controller here; kNotFound, no such RDMA device.
  virtual Result<void> SetRdmaMax(const std::string& path, const std::string& device,
                                  const RdmaMax& max) = 0;
  virtual Result<std::map<std::string, RdmaCurrent>> Current(const std::string& path) = 0;
  // SIGKILL to all, without a race against fork. Errors: kUnsupported, a kernel before 5.14.
  virtual Result<void> Kill(const std::string& path) = 0;
  // Removes a cgroup that Create() made. Errors: kConflict, processes are still in it.
  virtual Result<void> Remove(const std::string& path) = 0;
};

// Cgroup v2 at `mount`, with leases below `mount`/`parent`.
class LinuxLeaseCgroups final : public LeaseCgroups {
 public:
  LinuxLeaseCgroups(std::string mount, std::string parent)
      : mount_(std::move(mount)), parent_(std::move(parent)) {}

  // Makes the parent and enables the rdma controller down to it. Call once, before the rest.
  // Returns false when this kernel has no rdma controller: leases then work without kernel limits.
  // Errors: kUnsupported, no cgroup2 at `mount`; kDenied.
  Result<bool> Prepare();

  Result<std::string> Create(const std::string& lease) override;
  Result<void> Enter(const std::string& path, pid_t pid) override;
  Result<std::vector<pid_t>> Processes(const std::string& path) override;
  Result<void> SetRdmaMax(const std::string& path, const std::string& device,
                          const RdmaMax& max) override;
  Result<std::map<std::string, RdmaCurrent>> Current(const std::string& path) override;
  Result<void> Kill(const std::string& path) override;
  Result<void> Remove(const std::string& path) override;

 private:
  static void LiftLimits(const std::string& directory);
  Result<void> CollectProcesses(const std::string& directory, int depth, std::vector<pid_t>* pids);

  std::string mount_;   // "/sys/fs/cgroup"
  std::string parent_;  // "rdma-broker"
};

}  // namespace rb::agent
