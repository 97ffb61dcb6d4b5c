// Reads resource tables over RDMA netlink. Needs no privilege; see resources.h for the contract.
//
// Threading: thread-compatible. Opens a socket per call, so it holds nothing between calls.
#pragma once

#include <string>
#include <vector>

#include "agent/rdma/resources.h"

namespace rb::agent::rdma {

class LinuxResources final : public Resources {
 public:
  Result<std::vector<ContextRow>> Contexts(const std::string& device) override;
  Result<std::vector<PdRow>> Pds(const std::string& device) override;
  Result<std::vector<QpRow>> Qps(const std::string& device) override;
  Result<std::vector<CqRow>> Cqs(const std::string& device) override;
  Result<std::vector<MrRow>> Mrs(const std::string& device) override;
  Result<std::vector<SrqRow>> Srqs(const std::string& device) override;
  Result<ResourceCounts> Summary(const std::string& device) override;
};

}  // namespace rb::agent::rdma
