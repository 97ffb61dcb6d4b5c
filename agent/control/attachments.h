// The processes that were given something: who, for which lease, since when. Tells when one exits.
//
// A forked child that never spoke to the agent is not here; it is found through its cgroup.
// Runs on: loop.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/bare/unique_fd.h"
#include "common/runtime/fd_watch.h"
#include "common/runtime/loop.h"
#include "common/runtime/task.h"

namespace rb::agent {

struct Attachment {
  pid_t pid = 0;
  std::uint64_t start_time_ticks = 0;
  uid_t uid = 0;
  std::string command;
  std::string lease;
  std::string attached_at;
};

class Attachments {
 public:
  explicit Attachments(Loop& loop) : loop_(loop) {}

  // Called with the attachment when its process has exited. Set once, before Add().
  void OnExit(std::function<void(const Attachment&)> on_exit) { on_exit_ = std::move(on_exit); }

  // Does nothing when this very process is attached to the lease already.
  void Add(Attachment attachment, UniqueFd pidfd);

  // Forgets all of a lease that has ended; OnExit is not called for them.
  void Drop(const std::string& lease);

  std::vector<Attachment> List() const;
  std::size_t CountOf(const std::string& lease) const;

 private:
  struct Entry {
    Entry(Loop& loop, Attachment who, UniqueFd fd)
        : attachment(std::move(who)), pidfd(std::move(fd)), watch(loop, pidfd.get()) {}
    Attachment attachment;
    UniqueFd pidfd;
    FdWatch watch;  // after pidfd: it must go first
  };

  Task<void> WaitForExit(std::uint64_t key);

  Loop& loop_;
  std::function<void(const Attachment&)> on_exit_;
  std::map<std::uint64_t, std::unique_ptr<Entry>> entries_;
  std::uint64_t next_key_ = 1;
};

}  // namespace rb::agent
