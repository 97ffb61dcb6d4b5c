// Binds processes to leases and hands them files: the decisions behind ENTER, HELLO and OPEN.
//
// Every way in ends at one thing: the process is in the lease's cgroup. It knows nothing of frames
// and connections; agent/shims does.
//
// Runs on: loop.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "agent/attest/attest.h"
#include "agent/control/attachments.h"
#include "agent/control/kernel.h"
#include "agent/control/settler.h"
#include "agent/lease/lease_table.h"
#include "common/base/clock.h"
#include "common/runtime/blocking_pool.h"
#include "common/runtime/task.h"

namespace rb::agent {

struct OpenedDevice {
  UniqueFd file;
  std::uint32_t slot = 0;
  std::uint32_t device_index = 0;
  std::uint32_t driver_id = 0;
};

class Attach {
 public:
  Attach(BlockingPool& pool, Kernel kernel, const Clock& clock, NodeView& node, LeaseTable& leases,
         Attachments& attachments, Settler& settler)
      : pool_(pool),
        kernel_(kernel),
        clock_(clock),
        node_(node),
        leases_(leases),
        attachments_(attachments),
        settler_(settler) {}

  // Moves the process into the lease that the token names. Returns the lease's id.
  // Errors: kDenied "bad_token", "wrong_uid", "other_lease" (it is in another lease's cgroup
  // already);
  //         kConflict "not_active".
  Task<Result<std::string>> Enter(const Attested& peer, std::string token);

  // Which lease is this process's? By its cgroup, else by its token, else by its uid.
  // Errors: kNotFound "no_lease"; as Enter().
  Task<Result<std::string>> Hello(const Attested& peer, std::string token);

  // A fresh uverbs file of a leased device, and its slot.
  // Errors: kNotFound "device_not_leased", "device_gone"; kExhausted "limit_contexts", "slots";
  //         kConflict "not_active"; kDenied "other_lease", the process has left the lease's cgroup.
  Task<Result<OpenedDevice>> Open(const Attested& peer, std::string lease, std::string device);

 private:
  Result<LeaseRecord*> Admit(const Attested& peer, const std::string& token);
  Task<Result<std::string>> MoveInto(const Attested& peer, std::string lease);
  Task<void> MakeRoom(std::string lease);
  Result<std::uint32_t> FreeSlot(LeaseRecord* lease, pid_t pid);

  BlockingPool& pool_;
  Kernel kernel_;
  const Clock& clock_;
  NodeView& node_;
  LeaseTable& leases_;
  Attachments& attachments_;
  Settler& settler_;
  std::map<pid_t, std::string> moving_;  // processes on their way into a lease's cgroup
};

}  // namespace rb::agent
