// Processes in memory: who they are and which device files they have open.
//
// Header-only. Threading: thread-safe, so that a test may change a process while the agent's pool
// looks at it; `on_take` is called without the lock.
#pragma once

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agent/attest/process_facts.h"
#include "agent/control/process_files.h"
#include "agent/lease/admission.h"

namespace rb::agent {

class FakeProcesses final : public ProcessTable, public ProcessFiles {
 public:
  // Called with the descriptor that Take() is about to return.
  std::function<void(pid_t, const OpenFile&, int taken)> on_take;

  void Add(ProcessFacts facts) {
    const std::scoped_lock lock(mutex_);
    const pid_t pid = facts.pid;
    processes_[pid] = {.facts = std::move(facts), .files = {}};
  }

  // It exits: its files go with it.
  void Remove(pid_t pid) {
    const std::scoped_lock lock(mutex_);
    processes_.erase(pid);
  }

  void Move(pid_t pid, const std::string& cgroup) {
    const std::scoped_lock lock(mutex_);
    const auto found = processes_.find(pid);
    if (found != processes_.end()) found->second.facts.cgroup = cgroup;
  }

  // Another process got the pid.
  void Replace(pid_t pid) {
    const std::scoped_lock lock(mutex_);
    ++processes_[pid].facts.start_time_ticks;
  }

  void OpenFileOf(pid_t pid, const OpenFile& file) {
    const std::scoped_lock lock(mutex_);
    processes_[pid].files.push_back(file);
  }

  void CloseFilesOf(pid_t pid) {
    const std::scoped_lock lock(mutex_);
    const auto found = processes_.find(pid);
    if (found != processes_.end()) found->second.files.clear();
  }

  // Take() fails with it, as under Yama.
  void RefuseTake(std::optional<Error> error) {
    const std::scoped_lock lock(mutex_);
    take_error_ = std::move(error);
  }

  std::vector<pid_t> In(const std::string& cgroup) const {
    const std::scoped_lock lock(mutex_);
    std::vector<pid_t> pids;
    for (const auto& [pid, process] : processes_) {
      if (IsWithinCgroup(process.facts.cgroup, cgroup)) pids.push_back(pid);
    }
    return pids;
  }

  bool Has(pid_t pid) const {
    const std::scoped_lock lock(mutex_);
    return processes_.contains(pid);
  }

  Result<ProcessFacts> Read(pid_t pid) const override {
    const std::scoped_lock lock(mutex_);
    const auto found = processes_.find(pid);
    if (found == processes_.end()) return Gone(pid);
    return found->second.facts;
  }

  Result<std::vector<OpenFile>> Find(pid_t pid, const std::vector<DeviceNumber>& devices) override {
    const std::scoped_lock lock(mutex_);
    const auto found = processes_.find(pid);
    if (found == processes_.end()) return Gone(pid);
    std::vector<OpenFile> files = found->second.files;
    std::erase_if(files, [&](const OpenFile& file) {
      return std::ranges::find(devices, file.device) == devices.end();
    });
    return files;
  }

  Result<UniqueFd> Take(pid_t pid, const OpenFile& file) override {
    UniqueFd taken(::open("/dev/null", O_RDWR | O_CLOEXEC));
    if (!taken) return FailErrno("open /dev/null", errno);
    {
      const std::scoped_lock lock(mutex_);
      if (take_error_) return tl::unexpected<Error>(*take_error_);
      const auto found = processes_.find(pid);
      if (found == processes_.end()) return Gone(pid);
      const auto& files = found->second.files;
      if (std::ranges::find(files, file) == files.end()) return Gone(pid);
    }
    if (on_take) on_take(pid, file, taken.get());
    return taken;
  }

 private:
  struct Process {
    ProcessFacts facts;
    std::vector<OpenFile> files;
  };

  static tl::unexpected<Error> Gone(pid_t pid) {
    return Fail(ErrorCode::kNotFound, "process " + std::to_string(pid) + ": gone");
  }

  mutable std::mutex mutex_;
  std::map<pid_t, Process> processes_;
  std::optional<Error> take_error_;
};

}  // namespace rb::agent
