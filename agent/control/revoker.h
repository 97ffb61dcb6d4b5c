// Takes everything RDMA back from the processes of one lease.
//
//   rdma.max = 0 -> QPs to ERR -> flush time -> destroy objects -> time to exit -> kill -> verify
//
// Destroying is the courtesy, killing is the guarantee: a hostile process can bring a QP back to
// RTS, park a file in a socket, or hold an object that cannot be destroyed. Policy page and
// bookkeeping are the caller's.
//
// Runs on: loop; kernel work goes to the pool.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "agent/control/kernel.h"
#include "common/runtime/blocking_pool.h"
#include "common/runtime/loop.h"
#include "common/runtime/task.h"

namespace rb::agent {

struct RevokeDevice {
  std::string name;
  DeviceNumber number;
  std::uint32_t driver_id = 0;
  bool operator==(const RevokeDevice&) const = default;
};

struct RevokeTarget {
  std::string lease;
  std::string cgroup;  // empty: none was made, so no process can be in it
  std::vector<RevokeDevice> devices;
};

struct RevokeTimes {
  std::chrono::milliseconds flush{50};         // for completions to be seen
  std::chrono::milliseconds exit{250};         // for processes to close or exit by themselves
  std::chrono::milliseconds kill_wait{5'000};  // for killed processes to be gone
};

struct RevokeReport {
  std::size_t files = 0;
  std::size_t qps_stopped = 0;
  std::size_t objects_destroyed = 0;
  bool killed = false;
  bool clean = false;  // the kernel shows no context of the lease any more
  std::string detail;  // what went wrong, for the event; empty when nothing did
  bool operator==(const RevokeReport&) const = default;
};

class Revoker {
 public:
  Revoker(Loop& loop, BlockingPool& pool, Kernel kernel, RevokeTimes times)
      : loop_(loop), pool_(pool), kernel_(kernel), times_(times) {}

  // Never fails: what could not be done is in the report.
  Task<RevokeReport> Revoke(RevokeTarget target);

 private:
  Task<bool> WaitUntilGone(RevokeTarget target, std::chrono::milliseconds limit);

  Loop& loop_;
  BlockingPool& pool_;
  Kernel kernel_;
  RevokeTimes times_;
};

// True when the kernel charges no context to the cgroup and no process in it has a device file
// open; false when that takes too long to find out. Blocks. Errors: the cgroup or process table
// cannot be read.
Result<bool> HoldsNothing(Kernel kernel, const RevokeTarget& target);

}  // namespace rb::agent
