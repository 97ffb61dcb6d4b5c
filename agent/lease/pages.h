// The agent's side of the two shared pages (api/wire/pages.h): makes, finds again, maps.
//
// PolicyFile   a root-owned 0600 file on the run directory's tmpfs. Tenants get it read-only and
// cannot
//              reopen it for writing. It is updated in place, never replaced: processes have it
//              mapped.
// CountersMemory  a memfd, mode 0600 (the default 0777 lets a read-only descriptor be reopened for
// writing),
//              sealed against resizing: a holder that truncated it would kill the agent with
//              SIGBUS.
//
// Threading: thread-compatible; Runs on: loop (no call blocks: tmpfs and memory).
// Source: memfd_create(2), fcntl(2) F_ADD_SEALS, proc(5) map_files.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>

#include "api/wire/pages.h"
#include "common/bare/unique_fd.h"
#include "common/base/result.h"

namespace rb::agent {

class PolicyFile {
 public:
  // Opens or makes `path` and takes up the generation that it has.
  static Result<PolicyFile> Open(const std::string& path);

  // Writes the page; readers see the old one or the new one, and its generation is even again
  // after.
  Result<void> Write(wire::PolicyPage page);

  // A read-only descriptor for a tenant; the caller owns it.
  Result<UniqueFd> OpenForTenant() const;

  void Remove() const;

 private:
  PolicyFile(std::string path, UniqueFd fd, std::uint64_t generation)
      : path_(std::move(path)), fd_(std::move(fd)), generation_(generation) {}

  std::string path_;
  UniqueFd fd_;
  std::uint64_t generation_;  // even; of the last whole page
};

class CountersMemory {
 public:
  // A new page, all zero but for its header. `name` shows in /proc/PID/maps of the holders.
  static Result<CountersMemory> Create(const std::string& name);

  // The page that a live process has mapped, found in /proc/PID/map_files: after a restart of the
  // agent, without the process's help. Errors: kNotFound, it maps no such page (or is gone);
  // kCorrupt, only pages of another version, or not sealed; kDenied, the kernel does not let us
  // look.
  static Result<CountersMemory> Adopt(pid_t pid, const std::string& name);

  ~CountersMemory();
  CountersMemory(const CountersMemory&) = delete;
  CountersMemory& operator=(const CountersMemory&) = delete;
  CountersMemory(CountersMemory&& other) noexcept
      : fd_(std::move(other.fd_)), page_(std::exchange(other.page_, nullptr)) {}
  CountersMemory& operator=(CountersMemory&&) = delete;

  // Never null while this object lives (not moved from). Shared with hostile writers: see pages.h.
  wire::CountersPage* page() const { return page_; }
  int fd() const { return fd_.get(); }

 private:
  CountersMemory(UniqueFd fd, wire::CountersPage* page) : fd_(std::move(fd)), page_(page) {}
  static Result<CountersMemory> Map(UniqueFd fd);
  static Result<CountersMemory> AdoptMapping(const std::string& link, pid_t pid);

  UniqueFd fd_;
  wire::CountersPage* page_;
};

}  // namespace rb::agent
