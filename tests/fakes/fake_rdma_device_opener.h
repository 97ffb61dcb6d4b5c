// Opens nothing real: every device is a file of /dev/null, and the nodes are names.
//
// Header-only. Threading: Open() may be called from several pool threads at once, as the agent
// does; the rest while none is in it.
#pragma once

#include <fcntl.h>

#include <cerrno>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agent/rdma/device_nodes.h"
#include "agent/rdma/device_opener.h"

namespace rb::agent::rdma {

class FakeDeviceOpener final : public DeviceOpener {
 public:
  Result<UniqueFd> Open(const std::string& device) override {
    if (!devices.contains(device)) return Fail(ErrorCode::kNotFound, "open device " + device);
    if (late.contains(device)) return Fail(ErrorCode::kUnavailable, "open device " + device);
    UniqueFd fd(::open("/dev/null", O_RDWR | O_CLOEXEC));
    if (!fd) return FailErrno("open /dev/null", errno);
    const std::lock_guard lock(mutex_);
    opened.push_back(device);
    return fd;
  }

  std::set<std::string> devices;    // what can be opened
  std::set<std::string> late;       // there, but the node is not ready yet
  std::vector<std::string> opened;  // every success, in order

 private:
  std::mutex mutex_;  // over `opened`: two processes may open at once
};

class FakeDeviceNodes final : public DeviceNodes {
 public:
  Result<std::vector<NodeChange>> Restrict() override {
    ++calls;
    return std::exchange(open_nodes, {});
  }

  std::vector<NodeChange> open_nodes;  // what the next call finds and repairs
  int calls = 0;
};

}  // namespace rb::agent::rdma
