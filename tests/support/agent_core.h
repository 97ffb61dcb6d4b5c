// An agent's core on a kernel in memory: what main wires, without sockets.
//
//   AgentNode node;
//   AgentCore agent(node);
//   const auto created = RunTask(agent.loop, agent.service.Create(Request()));
//
// The node outlives its agents: a second AgentCore on it is a restarted one. Needs
// rb::agent_control. Threading: the test's thread is the loop.
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "agent/control/attach.h"
#include "agent/control/attachments.h"
#include "agent/control/lease_service.h"
#include "agent/control/node_view.h"
#include "agent/control/persistence.h"
#include "agent/control/revoker.h"
#include "agent/control/settler.h"
#include "agent/lease/checkpoint_file.h"
#include "agent/lease/event_log.h"
#include "agent/lease/lease_table.h"
#include "agent/lease/traffic_totals.h"
#include "common/base/files.h"
#include "common/runtime/blocking_pool.h"
#include "common/runtime/loop.h"
#include "common/runtime/metrics.h"
#include "common/runtime/timer.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/fake_kernel.h"
#include "tests/support/run_task.h"
#include "tests/support/temp_tree.h"

namespace rb::test {

// What outlives an agent: the kernel, the disk, the time.
struct AgentNode {
  AgentNode() {
    std::filesystem::create_directory(tree.Path("policy"));
    RepairDisk();
  }

  std::string checkpoint_path() const { return tree.Path("state/checkpoint.json"); }
  std::string policy_path(const std::string& lease) const {
    return tree.Path("policy/" + lease + ".policy");
  }

  // Until it is repaired every write of the checkpoint fails.
  void BreakDisk() const { std::filesystem::rename(tree.Path("state"), tree.Path("lost")); }
  void RepairDisk() const {
    if (tree.Exists("lost")) {
      std::filesystem::rename(tree.Path("lost"), tree.Path("state"));
    } else {
      std::filesystem::create_directory(tree.Path("state"));
    }
  }

  TempTree tree;
  FakeClock clock;
  agent::FakeKernel kernel;
};

// Short enough for tests that wait for them, long enough for two looks at the kernel.
inline constexpr agent::RevokeTimes kTestRevokeTimes{.flush = std::chrono::milliseconds(1),
                                                     .exit = std::chrono::milliseconds(30),
                                                     .kill_wait = std::chrono::milliseconds(30)};

struct AgentCore {
  // Has read the inventory.
  explicit AgentCore(
      AgentNode& on,
      const agent::NodeTraits& traits = {.name = "node-1",
                                         .classes = {{"gold", {.traffic_class = 26 << 2, .sl = 3}}},
                                         .has_rdma_controller = true})
      : machine(on),
        events(on.clock),
        node(pool, on.kernel.inventory, events, traits),
        settler(pool, on.kernel.bundle(), node, leases, events,
                metrics.AddCounter("denials_total", "Denials.")),
        revoker(loop, pool, on.kernel.bundle(), kTestRevokeTimes),
        persistence(loop, pool, on.checkpoint_path(), [this] { return Snapshot(); }),
        service({.loop = loop,
                 .pool = pool,
                 .kernel = on.kernel.bundle(),
                 .clock = on.clock,
                 .node = node,
                 .leases = leases,
                 .events = events,
                 .attachments = attachments,
                 .settler = settler,
                 .revoker = revoker,
                 .persistence = persistence,
                 .ended_traffic = ended_traffic,
                 .page_directory = on.tree.Path("policy")}),
        attach(pool, on.kernel.bundle(), on.clock, node, leases, attachments, settler) {
    RB_CHECK(RunTask(loop, node.Refresh()).has_value());
  }

  // As main does it: what the checkpoint of the agent before says is made whole.
  void Restart(bool same_boot = true) {
    const auto saved = agent::LoadCheckpoint(machine.checkpoint_path());
    RB_CHECK(saved.has_value() && saved->has_value());
    leases.FromCheckpoint(**saved);
    RunTask(loop, service.Restore(same_boot));
  }

  // Runs the loop until `holds()` does. False: it did not within five seconds.
  bool RunUntil(std::function<bool()> holds) {
    bool held = false;
    loop.RunUntil(Poll(loop, std::move(holds), &held));
    return held;
  }

  std::string Snapshot() {
    ++snapshots;
    // Before the snapshot is taken, but after the caller has asked for it.
    if (on_snapshot) std::exchange(on_snapshot, nullptr)();
    return rest::DumpCheckpoint(leases.ToCheckpoint("boot-1", events.next_sequence()));
  }

  // What a reader of the disk would see now.
  rest::Checkpoint OnDisk() const {
    const auto saved = agent::LoadCheckpoint(machine.checkpoint_path());
    return saved && *saved ? **saved : rest::Checkpoint{};
  }

  std::vector<rest::Event> EventsOf(const std::string& type) const {
    std::vector<rest::Event> found;
    for (const rest::Event& event : events.Since(0, agent::kEventsMax)) {
      if (event.type == type) found.push_back(event);
    }
    return found;
  }

  static Task<void> Poll(Loop& loop, std::function<bool()> holds, bool* held) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    while (!(*held = holds()) && std::chrono::steady_clock::now() < deadline) {
      co_await SleepFor(loop, std::chrono::milliseconds(1));
    }
  }

  AgentNode& machine;
  std::size_t snapshots = 0;
  std::function<void()> on_snapshot;  // called once, at the next write

  Loop loop;
  BlockingPool pool{loop, 2};
  MetricsRegistry metrics;
  agent::EventLog events;
  agent::LeaseTable leases;
  agent::TrafficTotals ended_traffic;
  agent::Attachments attachments{loop};
  agent::NodeView node;
  agent::Settler settler;
  agent::Revoker revoker;
  agent::Persistence persistence;
  agent::LeaseService service;
  agent::Attach attach;
};

// For tasks that go on beside the test: where the result goes.
template <class T>
Task<void> Keep(Task<T> task, T* result) {
  *result = co_await std::move(task);
}

// A lease of rxe0 for the holder of a token.
inline rest::LeaseRequest TokenRequest(const std::string& tenant = "red") {
  rest::LeaseRequest request;
  request.spec.tenant = tenant;
  request.spec.devices.names = {"rxe0"};
  request.spec.workload = {.token = true, .uid = {}, .cgroup = {}};
  return request;
}

inline rest::LeaseRequest UidRequest(std::uint32_t uid) {
  rest::LeaseRequest request = TokenRequest();
  request.spec.workload = {.token = false, .uid = uid, .cgroup = {}};
  return request;
}

inline rest::LeaseRequest CgroupRequest(const std::string& cgroup) {
  rest::LeaseRequest request = TokenRequest();
  request.spec.workload = {.token = false, .uid = {}, .cgroup = cgroup};
  return request;
}

}  // namespace rb::test
