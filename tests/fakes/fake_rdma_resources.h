// Resource tables served from memory, by device.
//
// Header-only. Threading: thread-compatible.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "agent/rdma/resources.h"

namespace rb::agent::rdma {

class FakeResources final : public Resources {
 public:
  struct Tables {
    std::vector<ContextRow> contexts;
    std::vector<PdRow> pds;
    std::vector<QpRow> qps;
    std::vector<CqRow> cqs;
    std::vector<MrRow> mrs;
    std::vector<SrqRow> srqs;
  };

  // A device without an entry here does not exist.
  std::map<std::string, Tables> devices;
  int qp_dumps = 0;  // the expensive ones

  Result<std::vector<ContextRow>> Contexts(const std::string& device) override {
    return Get(device, &Tables::contexts);
  }
  Result<std::vector<PdRow>> Pds(const std::string& device) override {
    return Get(device, &Tables::pds);
  }
  Result<std::vector<QpRow>> Qps(const std::string& device) override {
    ++qp_dumps;
    return Get(device, &Tables::qps);
  }
  Result<std::vector<CqRow>> Cqs(const std::string& device) override {
    return Get(device, &Tables::cqs);
  }
  Result<std::vector<MrRow>> Mrs(const std::string& device) override {
    return Get(device, &Tables::mrs);
  }
  Result<std::vector<SrqRow>> Srqs(const std::string& device) override {
    return Get(device, &Tables::srqs);
  }
  Result<ResourceCounts> Summary(const std::string& device) override {
    const auto found = devices.find(device);
    if (found == devices.end()) return NoSuchDevice(device);
    const Tables& tables = found->second;
    return ResourceCounts{{"ctx", tables.contexts.size()}, {"pd", tables.pds.size()},
                          {"qp", tables.qps.size()},       {"cq", tables.cqs.size()},
                          {"mr", tables.mrs.size()},       {"srq", tables.srqs.size()}};
  }

 private:
  static tl::unexpected<Error> NoSuchDevice(const std::string& device) {
    return Fail(ErrorCode::kNotFound, "find rdma device " + device + ": there is none");
  }

  template <typename Row>
  Result<std::vector<Row>> Get(const std::string& device, std::vector<Row> Tables::* table) {
    const auto found = devices.find(device);
    if (found == devices.end()) return NoSuchDevice(device);
    return found->second.*table;
  }
};

}  // namespace rb::agent::rdma
