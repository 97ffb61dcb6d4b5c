// An agent's core for tests of what processes and operators reach it through: this test's own
// process is one that the agent can see, and leases are made from the body of a POST.
//
//   AgentWithProcess agent;
//   const CreatedLease lease = agent.AddLease(R"({"spec": {"tenant": "alice"}})");
//
// Threading: as AgentCore.
#pragma once

#include <unistd.h>

#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "api/rest/lease.h"
#include "tests/support/agent_core.h"

namespace rb::test {

struct AgentWithProcess {
  // For label values without a comma.
  static std::multiset<std::string> Split(const std::string& labels) {
    std::multiset<std::string> parts;
    std::istringstream text(labels);
    for (std::string part; std::getline(text, part, ',');) parts.insert(part);
    return parts;
  }

  AgentWithProcess() { processes.Add(self); }

  // A refusal is a bug of the test.
  agent::CreatedLease AddLease(std::string_view body) {
    auto request = rest::ParseLeaseRequest(body);
    RB_CHECK(request.has_value());
    auto created = RunTask(core.loop, core.service.Create(std::move(*request)));
    RB_CHECK(created.has_value());
    return std::move(*created);
  }

  void Revoke(const std::string& id) {
    RB_CHECK(RunTask(core.loop, core.service.Revoke(id, rest::RevokeRequest{})).has_value());
  }

  agent::LeaseRecord& Lease(const std::string& id) {
    agent::LeaseRecord* lease = core.leases.Find(id);
    RB_CHECK(lease != nullptr);
    return *lease;
  }

  // The series of /metrics with these labels, `a="1",b="2"` in any order; 0 when it is absent.
  double Metric(const std::string& name, const std::string& labels) {
    std::istringstream text(core.metrics.Text());
    for (std::string line; std::getline(text, line);) {
      const std::size_t end = line.rfind("} ");
      if (!line.starts_with(name + "{") || end == std::string::npos) continue;
      const std::string found = line.substr(name.size() + 1, end - name.size() - 1);
      if (Split(found) == Split(labels)) return std::stod(line.substr(end + 2));
    }
    return 0;
  }

  // In no lease's cgroup yet.
  const agent::ProcessFacts self{.pid = ::getpid(),
                                 .uid = ::getuid(),
                                 .start_time_ticks = 42,
                                 .cgroup = "/",
                                 .command = "tenant"};
  AgentNode machine;
  agent::FakeKernel& kernel = machine.kernel;
  agent::FakeProcesses& processes = machine.kernel.processes;
  AgentCore core{machine,
                 {.name = "node-a",
                  .classes = {{"storage", {.traffic_class = 26 << 2, .sl = 3}}},
                  .has_rdma_controller = true}};
};

}  // namespace rb::test
