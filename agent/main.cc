// rdma-agent: owns this node's RDMA devices and hands each tenant's job its share of them.
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/cgroup/lease_cgroups.h"
#include "agent/config/config.h"
#include "agent/control/attach.h"
#include "agent/control/hotplug.h"
#include "agent/control/lease_service.h"
#include "agent/lease/checkpoint_file.h"
#include "agent/rdma/device_nodes.h"
#include "agent/rdma/device_opener.h"
#include "agent/rdma/events.h"
#include "agent/rdma/inventory_linux.h"
#include "agent/rdma/nldev.h"
#include "agent/rdma/query_device.h"
#include "agent/rdma/resources_linux.h"
#include "agent/rest/health_api.h"
#include "agent/rest/node_api.h"
#include "agent/rest/node_metrics.h"
#include "agent/shims/tenant_server.h"
#include "api/rest/stored_lease.h"
#include "common/base/files.h"
#include "common/runtime/log.h"
#include "common/runtime/tcp_listener.h"
#include "common/runtime/timer.h"
#include "common/runtime/unix_listener.h"

namespace rb::agent {
namespace {

constexpr std::string_view kVersion = "0.1.0";
constexpr std::size_t kPoolThreads = 4;
constexpr std::size_t kSettleThreads = 2;
constexpr std::chrono::milliseconds kDenialPeriod{200};
constexpr mode_t kTenantSocketMode = 0666;
constexpr mode_t kAdminSocketMode = 0600;

Result<void> MakeDirectory(const std::string& path, mode_t mode) {
  if (::mkdir(path.c_str(), mode) != 0 && errno != EEXIST) return FailErrno("mkdir " + path, errno);
  if (::chmod(path.c_str(), mode) != 0) return FailErrno("chmod " + path, errno);
  return {};
}

// Only `tenant/` is for tenants: it can be bind-mounted into a container.
Result<void> MakeDirectories(const Config& config) {
  RB_TRY_VOID(MakeDirectory(config.run_directory, 0755));
  RB_TRY_VOID(MakeDirectory(config.tenant_directory(), 0755));
  RB_TRY_VOID(MakeDirectory(config.policy_directory(), 0700));
  return MakeDirectory(config.state_directory, 0700);
}

std::string HostName() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
}

Result<HostFacts> ReadHostFacts() {
  RB_TRY(std::string boot_id, ReadSmallFile("/proc/sys/kernel/random/boot_id"));
  while (boot_id.ends_with('\n')) boot_id.pop_back();
  utsname system{};
  ::uname(&system);
  return HostFacts{.version = std::string(kVersion),
                   .boot_id = std::move(boot_id),
                   .kernel_release = static_cast<const char*>(system.release)};
}

void LogEvent(const rest::Event& event) {
  RB_LOG_INFO("event={} reason={} lease={} tenant={} {}", event.type, event.reason, event.lease,
              event.tenant, event.message);
}

// One descriptor a tenant connection: the usual soft limit of 1024 is too few for a busy node.
void RaiseDescriptorLimit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

using LoadedCheckpoint = Result<std::optional<rest::Checkpoint>>;

// What the last agent left, or nothing. A damaged file was set aside: leases that it held are
// unknown now, and their processes keep running until somebody looks.
rest::Checkpoint StateOf(const LoadedCheckpoint& loaded, EventLog* events) {
  if (loaded) return loaded->value_or(rest::Checkpoint{});
  rest::Event event;
  event.type = "checkpoint_lost";
  event.message = loaded.error().message;
  events->Add(std::move(event));
  return {};
}

// The ports to the kernel.
struct KernelPorts {
  explicit KernelPorts(const Config& config)
      : cgroups(config.cgroup_mount, config.cgroup_parent),
        opener("/sys", "/dev"),
        device_nodes("/dev"),
        inventory(nldev, device_query, "/sys"),
        resources(nldev) {}

  Kernel bundle() { return {cgroups, processes, files, opener, resources, uverbs}; }

  LinuxLeaseCgroups cgroups;
  ProcFs processes;
  LinuxProcessFiles files;
  rdma::LinuxDeviceOpener opener;
  rdma::LinuxDeviceNodes device_nodes;
  rdma::LinuxNldev nldev;
  rdma::VerbsDeviceQuery device_query;
  rdma::LinuxInventoryReader inventory;
  rdma::LinuxResources resources;
  rdma::LinuxUverbsControl uverbs;
};

// No lease may be on these: its revoke would end the agent or other leases.
std::vector<std::string> ReservedCgroups(const Config& config, const ProcessTable& processes) {
  std::vector<std::string> reserved{"/" + config.cgroup_parent};
  const auto self = processes.Read(::getpid());
  if (self) reserved.push_back(self->cgroup);
  return reserved;
}

// The agent's state and what acts on it, in construction order; destroyed in reverse.
struct Core {
  Core(const Config& config, const HostFacts& host, KernelPorts& ports,
       rdma::InventoryEvents& hotplug_events, bool has_rdma_controller)
      : kernel(ports.bundle()),
        node(pool, ports.inventory, events,
             {.name = config.node_name.empty() ? HostName() : config.node_name,
              .classes = config.traffic_classes,
              .has_rdma_controller = has_rdma_controller,
              .reserved_cgroups = ReservedCgroups(config, ports.processes)}),
        hotplug(loop, pool, hotplug_events, node,
                config.restrict_device_nodes ? &ports.device_nodes : nullptr),
        settler(settle_pool, kernel, node, leases, events,
                metrics.AddCounter("rdma_agent_denials_total",
                                   "Verbs refused because a limit of the lease was reached.")),
        revoker(loop, pool, kernel, {.flush = config.flush_time, .exit = config.exit_time}),
        persistence(loop, pool, config.checkpoint_path(), [this, host] { return Snapshot(host); }),
        service({.loop = loop,
                 .pool = pool,
                 .kernel = kernel,
                 .clock = clock,
                 .node = node,
                 .leases = leases,
                 .events = events,
                 .attachments = attachments,
                 .settler = settler,
                 .revoker = revoker,
                 .persistence = persistence,
                 .ended_traffic = ended_traffic,
                 .page_directory = config.policy_directory()}),
        attach(pool, kernel, clock, node, leases, attachments, settler) {
    events.Observe(LogEvent);
    attachments.OnExit([this](const Attachment& gone) { loop.Spawn(settler.Settle(gone.lease)); });
  }

  std::string Snapshot(const HostFacts& host) const {
    return rest::DumpCheckpoint(leases.ToCheckpoint(host.boot_id, events.next_sequence()));
  }

  Loop loop;
  BlockingPool pool{loop, kPoolThreads};
  // Looking through the descriptors of hostile tenants takes long, and nobody else waits for it.
  BlockingPool settle_pool{loop, kSettleThreads};
  SystemClock clock;
  MetricsRegistry metrics;
  Kernel kernel;
  EventLog events{clock};
  LeaseTable leases;
  TrafficTotals ended_traffic;
  Attachments attachments{loop};
  NodeView node;
  Hotplug hotplug;
  Settler settler;
  Revoker revoker;
  Persistence persistence;
  LeaseService service;
  Attach attach;
};

struct Listeners {
  UniqueFd tenants;
  UniqueFd admin;
  UniqueFd monitor;
};

Result<Listeners> Listen(const Config& config) {
  Listeners listeners;
  RB_TRY(listeners.tenants, ListenUnixSeqpacket(config.tenant_socket(), kTenantSocketMode));
  RB_TRY(listeners.admin, ListenUnixStream(config.admin_socket(), kAdminSocketMode));
  RB_TRY(listeners.monitor, ListenTcp(config.metrics_address, config.metrics_port));
  return listeners;
}

// What the outside reaches: tenants, operators, Prometheus.
struct Servers {
  Servers(Core& core, KernelPorts& ports, const HostFacts& host, Listeners listeners)
      : tenants({.loop = core.loop,
                 .attach = core.attach,
                 .node = core.node,
                 .leases = core.leases,
                 .events = core.events,
                 .processes = ports.processes,
                 .refusals = core.metrics.AddCounter("rdma_agent_refusals_total",
                                                     "Refused requests on the tenant socket."),
                 .opens = core.metrics.AddCounter("rdma_agent_opens_total",
                                                  "Device files handed to processes."),
                 .attach_time = core.metrics.AddHistogram(
                     "rdma_agent_attach_seconds",
                     "Time to answer a process: step=grant from its connection on, step=open for "
                     "one device.",
                     {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 1})},
                std::move(listeners.tenants)),
        node_api(
            {.pool = core.pool,
             .resources = ports.resources,
             .clock = core.clock,
             .node = core.node,
             .leases = core.leases,
             .events = core.events,
             .attachments = core.attachments,
             .service = core.service,
             .requests = core.metrics.AddCounter(
                 "rdma_agent_requests_total", "Requests on the admin socket, by route and status."),
             .host = host}),
        node_metrics(core.node, core.leases, core.ended_traffic, ports.cgroups, ports.resources),
        health(core.metrics),
        admin(core.loop, std::move(listeners.admin),
              [this](HttpRequest request) { return node_api.Handle(std::move(request)); }),
        monitor(core.loop, std::move(listeners.monitor),
                [this](HttpRequest request) { return health.Handle(std::move(request)); }) {
    core.metrics.AddCollector([this](MetricsWriter& out) { node_metrics.Collect(out); });
  }

  TenantServer tenants;
  NodeApi node_api;
  NodeMetrics node_metrics;
  HealthApi health;
  HttpServer admin;
  HttpServer monitor;
};

// Live leases first, so that nobody is told "no lease" who has one.
void Start(const Config& config, const HostFacts& host, const LoadedCheckpoint& loaded, Core* core,
           Servers* servers) {
  servers->monitor.Start();
  core->loop.RunUntil(core->hotplug.Start());
  const rest::Checkpoint saved = StateOf(loaded, &core->events);
  core->events.SkipTo(saved.next_event);
  core->leases.FromCheckpoint(saved);
  core->loop.RunUntil(core->service.Restore(saved.boot_id == host.boot_id));
  servers->tenants.Start();
  servers->admin.Start();
  servers->health.SetReady();
  RB_LOG_INFO("node {}: {} devices, {} live leases, tenants at {}, admin at {}, metrics at {}:{}",
              core->node.traits().name, core->node.inventory().devices.size(),
              core->leases.live_count(), config.tenant_socket(), config.admin_socket(),
              config.metrics_address, config.metrics_port);
}

Task<void> SaveLast(Persistence* persistence, Result<void>* saved) {
  *saved = co_await persistence->Save();
}

// The last checkpoint waits for one that a thread is writing: both use the same temporary file.
Result<void> Stop(Core* core, Servers* servers) {
  servers->tenants.Stop();
  core->loop.RunUntil(servers->admin.Stop());
  core->loop.RunUntil(servers->monitor.Stop());
  Result<void> saved;
  core->loop.RunUntil(SaveLast(&core->persistence, &saved));
  return saved;
}

Result<void> Run(const Config& config) {
  RB_TRY_VOID(MakeDirectories(config));
  RB_TRY(const HostFacts host, ReadHostFacts());
  RaiseDescriptorLimit();
  KernelPorts ports(config);
  RB_TRY(const bool has_rdma_controller, ports.cgroups.Prepare());
  RB_TRY(const auto hotplug_events, rdma::ListenForInventoryEvents());
  RB_TRY(Listeners listeners, Listen(config));
  const LoadedCheckpoint loaded = LoadCheckpoint(config.checkpoint_path());
  // The file is there and cannot be read: to go on would replace it with an empty one.
  if (!loaded && loaded.error().code != ErrorCode::kCorrupt) {
    return tl::unexpected(loaded.error());
  }

  Core core(config, host, ports, *hotplug_events, has_rdma_controller);
  Servers servers(core, ports, host, std::move(listeners));
  Start(config, host, loaded, &core, &servers);

  PeriodicTimer denial_timer(core.loop);
  PeriodicTimer settle_timer(core.loop);
  denial_timer.Start(kDenialPeriod, [&core] { core.settler.ReportDenials(); });
  settle_timer.Start(config.settle_period, [&core] {
    core.service.Tick();
    for (const LeaseRecord* lease : core.leases.Live()) {
      core.loop.Spawn(core.settler.Settle(lease->id()));
    }
  });

  const int signal = core.loop.RunUntilSignalled();
  RB_LOG_INFO("signal {}: stopping; leases and their traffic go on", signal);
  return Stop(&core, &servers);
}

// Prints and stops when that was asked (--help, --print-config).
Result<void> Main(int argc, const char* const* argv) {
  Config config;
  ConfigSchema schema("rdma-agent", "RDMA_AGENT", std::string(kVersion));
  Describe(&config, &schema);
  RB_TRY(const ConfigOutcome outcome, schema.Load(argc, argv));
  if (outcome.exit) {
    std::fputs(outcome.text.c_str(), stdout);
    return {};
  }
  RB_TRY_VOID(SetLogLevel(config.log_level));
  RB_TRY_VOID(SetLogFormat(config.log_format));
  return Run(config);
}

}  // namespace
}  // namespace rb::agent

int main(int argc, char** argv) {
  const auto done = rb::agent::Main(argc, argv);
  if (!done) RB_LOG_ERROR("{}", done.error().message);
  return done ? EXIT_SUCCESS : EXIT_FAILURE;
}
