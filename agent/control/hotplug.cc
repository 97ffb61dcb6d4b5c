#include "agent/control/hotplug.h"

#include <utility>

#include "common/runtime/log.h"
#include "common/runtime/timer.h"

namespace rb::agent {
namespace {

// One device makes dozens of events when it comes: they are answered with one look.
constexpr std::chrono::milliseconds kCollect{50};

}  // namespace

Task<void> Hotplug::Start() {
  co_await Update();
  loop_.Spawn(Follow());
}

Task<void> Hotplug::Update() {
  if (nodes_ != nullptr) {
    // First: a new node is born 0666 where no udev rule says otherwise.
    auto restrict_nodes = [nodes = nodes_] { return nodes->Restrict(); };
    const auto changed = co_await pool_.Run(std::move(restrict_nodes));
    if (!changed) RB_LOG_ERROR("device nodes: {}", changed.error().message);
    if (changed) {
      for (const rdma::NodeChange& node : *changed) {
        RB_LOG_INFO("device node {}: mode {:o} -> 600", node.name, node.mode_before);
      }
    }
  }
  const auto read = co_await node_.Refresh();
  if (!read) RB_LOG_ERROR("inventory: {}", read.error().message);
}

Task<void> Hotplug::Follow() {
  while (true) {
    const auto ready = co_await watch_.Readable();
    if (!ready) co_return;
    auto change = source_.Drain();
    if (!change) {
      RB_LOG_ERROR("hot-plug events: {}; restart the agent to see new devices",
                   change.error().message);
      co_return;
    }
    if (!*change) continue;
    co_await SleepFor(loop_, kCollect);
    if (change = source_.Drain(); !change) continue;
    co_await Update();
  }
}

}  // namespace rb::agent
