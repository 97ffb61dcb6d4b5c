// Reads resource tables over RDMA netlink. Needs no privilege; see resources.h for the contract.
//
// Threading: thread-compatible. Holds nothing between calls.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "agent/rdma/nldev.h"
#include "agent/rdma/resources.h"

namespace rb::agent::rdma {

class LinuxResources final : public Resources {
 public:
  // `nldev` outlives this.
  explicit LinuxResources(Nldev& nldev) : nldev_(nldev) {}

  Result<std::vector<ContextRow>> Contexts(const std::string& device) override;
  Result<std::vector<PdRow>> Pds(const std::string& device) override;
  Result<std::vector<QpRow>> Qps(const std::string& device) override;
  Result<std::vector<CqRow>> Cqs(const std::string& device) override;
  Result<std::vector<MrRow>> Mrs(const std::string& device) override;
  Result<std::vector<SrqRow>> Srqs(const std::string& device) override;
  Result<ResourceCounts> Summary(const std::string& device) override;

 private:
  enum class Scope : std::uint8_t { kTable, kOne };

  Result<std::uint32_t> IndexOf(const std::string& device);
  Result<NldevAnswer> Ask(const std::string& device, std::uint16_t command, Scope scope);

  Nldev& nldev_;
};

}  // namespace rb::agent::rdma
