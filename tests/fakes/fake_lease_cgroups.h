// Cgroups in memory, below "/rdma-broker" like the real ones; who is in them, FakeProcesses knows.
//
// Header-only. Threading: thread-safe; the hooks are called without the lock.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agent/cgroup/lease_cgroups.h"
#include "tests/fakes/fake_processes.h"

namespace rb::agent {

class FakeLeaseCgroups final : public LeaseCgroups {
 public:
  explicit FakeLeaseCgroups(FakeProcesses& processes) : processes_(processes) {}

  // Set before the agent runs.
  bool has_rdma_controller = true;
  bool can_kill = true;                    // false: a kernel before 5.14
  std::optional<Error> create_error = {};  // Create() fails with it
  std::set<pid_t> unkillable = {};         // survive Kill(), as in uninterruptible sleep
  std::function<void(const std::string& path)> on_create = {};  // the cgroup is there already
  std::function<void(pid_t pid)> on_enter = {};                 // before the process is moved
  std::function<void(const std::string& path)> on_kill = {};    // after the processes are gone

  // A cgroup that the agent did not make.
  void Add(const std::string& path) {
    const std::scoped_lock lock(mutex_);
    cgroups_[path];
  }

  // What the kernel charges to it.
  void Charge(const std::string& path, const std::string& device, std::uint64_t contexts) {
    const std::scoped_lock lock(mutex_);
    cgroups_[path].current[device] = {.hca_handles = contexts, .hca_objects = 0};
  }

  bool Has(const std::string& path) const {
    const std::scoped_lock lock(mutex_);
    return cgroups_.contains(path);
  }

  std::vector<std::string> Paths() const {
    const std::scoped_lock lock(mutex_);
    std::vector<std::string> paths;
    for (const auto& [path, cgroup] : cgroups_) paths.push_back(path);
    return paths;
  }

  // Nothing: never set, or no such cgroup.
  std::optional<RdmaMax> MaxOf(const std::string& path, const std::string& device) const {
    const std::scoped_lock lock(mutex_);
    const auto found = cgroups_.find(path);
    if (found == cgroups_.end() || !found->second.max.contains(device)) return std::nullopt;
    return found->second.max.at(device);
  }

  // Every rdma.max that was written, "path device handles", in order.
  std::vector<std::string> Writes() const {
    const std::scoped_lock lock(mutex_);
    return writes_;
  }

  Result<std::string> Create(const std::string& lease) override {
    const std::string path = "/rdma-broker/" + lease;
    {
      const std::scoped_lock lock(mutex_);
      if (create_error) return tl::unexpected<Error>(*create_error);
      cgroups_[path];
    }
    if (on_create) on_create(path);
    return path;
  }

  Result<void> Enter(const std::string& path, pid_t pid) override {
    if (on_enter) on_enter(pid);
    const std::scoped_lock lock(mutex_);
    if (!cgroups_.contains(path)) return Gone(path);
    processes_.Move(pid, path);
    return {};
  }

  Result<std::vector<pid_t>> Processes(const std::string& path) override {
    const std::scoped_lock lock(mutex_);
    if (!cgroups_.contains(path)) return Gone(path);
    return processes_.In(path);
  }

  Result<void> SetRdmaMax(const std::string& path, const std::string& device,
                          const RdmaMax& max) override {
    const std::scoped_lock lock(mutex_);
    if (!cgroups_.contains(path)) return Gone(path);
    if (!has_rdma_controller) return Fail(ErrorCode::kUnsupported, "rdma.max: no controller");
    cgroups_[path].max[device] = max;
    writes_.push_back(path + " " + device + " " +
                      (max.hca_handles ? std::to_string(*max.hca_handles) : "max"));
    return {};
  }

  Result<std::map<std::string, RdmaCurrent>> Current(const std::string& path) override {
    const std::scoped_lock lock(mutex_);
    if (!has_rdma_controller || !cgroups_.contains(path)) return Gone(path);
    return cgroups_[path].current;
  }

  Result<void> Kill(const std::string& path) override {
    {
      const std::scoped_lock lock(mutex_);
      if (!cgroups_.contains(path)) return Gone(path);
      if (!can_kill) return Fail(ErrorCode::kUnsupported, "cgroup.kill: an old kernel");
      for (const pid_t pid : processes_.In(path)) {
        if (!unkillable.contains(pid)) processes_.Remove(pid);
      }
    }
    if (on_kill) on_kill(path);
    return {};
  }

  Result<void> Remove(const std::string& path) override {
    const std::scoped_lock lock(mutex_);
    if (!processes_.In(path).empty()) return Fail(ErrorCode::kConflict, "rmdir " + path + ": busy");
    cgroups_.erase(path);
    return {};
  }

 private:
  struct Cgroup {
    std::map<std::string, RdmaMax> max;
    std::map<std::string, RdmaCurrent> current;
  };

  static tl::unexpected<Error> Gone(const std::string& path) {
    return Fail(ErrorCode::kNotFound, "cgroup " + path + ": there is none");
  }

  mutable std::mutex mutex_;
  FakeProcesses& processes_;
  std::map<std::string, Cgroup> cgroups_;
  std::vector<std::string> writes_;
};

}  // namespace rb::agent
