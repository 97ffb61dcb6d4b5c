// rdma-agent: owns this node's RDMA devices and hands each tenant's job its share of them.
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <utility>

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

// What the last agent left, or nothing. A damaged file is set aside: leases that it held are
// unknown now, and their processes keep running until somebody looks.
rest::Checkpoint LoadState(const Config& config, EventLog* events) {
  auto loaded = LoadCheckpoint(config.checkpoint_path());
  if (loaded) return loaded->value_or(rest::Checkpoint{});
  rest::Event event;
  event.type = "checkpoint_lost";
  event.message = loaded.error().message;
  events->Add(std::move(event));
  return {};
}

// Everything the agent is made of, in construction order; destroyed in reverse.
Result<void> Run(const Config& config) {
  RB_TRY_VOID(MakeDirectories(config));
  RB_TRY(const HostFacts host, ReadHostFacts());

  Loop loop;
  BlockingPool pool(loop, kPoolThreads);
  SystemClock clock;
  MetricsRegistry metrics;

  // The ports to the kernel.
  LinuxLeaseCgroups cgroups(config.cgroup_mount, config.cgroup_parent);
  RB_TRY(const bool has_rdma_controller, cgroups.Prepare());
  ProcFs processes;
  LinuxProcessFiles files;
  rdma::LinuxDeviceOpener opener("/sys", "/dev");
  rdma::LinuxDeviceNodes device_nodes("/dev");
  rdma::LinuxNldev nldev;
  rdma::VerbsDeviceQuery device_query;
  rdma::LinuxInventoryReader inventory(nldev, device_query, "/sys");
  rdma::LinuxResources resources(nldev);
  rdma::LinuxUverbsControl uverbs;
  RB_TRY(const auto hotplug_events, rdma::ListenForInventoryEvents());
  const Kernel kernel{cgroups, processes, files, opener, resources, uverbs};

  // State.
  EventLog events(clock);
  events.Observe(LogEvent);
  LeaseTable leases;
  TrafficTotals ended_traffic;
  Attachments attachments(loop);
  NodeView node(pool, inventory, events,
                {.name = config.node_name.empty() ? HostName() : config.node_name,
                 .classes = config.traffic_classes,
                 .has_rdma_controller = has_rdma_controller});

  // What acts on it.
  CounterFamily& denials =
      metrics.AddCounter("rdma_agent_denials_total",
                         "Verbs that were refused because a limit of the lease was reached.");
  Hotplug hotplug(loop, pool, *hotplug_events, node,
                  config.restrict_device_nodes ? &device_nodes : nullptr);
  Settler settler(pool, kernel, node, leases, events, denials);
  Revoker revoker(loop, pool, kernel, {.flush = config.flush_time, .exit = config.exit_time});
  Persistence persistence(loop, pool, config.checkpoint_path(), [&] {
    return rest::DumpCheckpoint(leases.ToCheckpoint(host.boot_id, events.next_sequence()));
  });
  LeaseService service({.loop = loop,
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
                        .page_directory = config.policy_directory()});
  Attach attach(pool, kernel, clock, node, leases, attachments, settler);
  attachments.OnExit([&](const Attachment& gone) { loop.Spawn(settler.Settle(gone.lease)); });

  // What the outside reaches.
  RB_TRY(UniqueFd tenant_listener, ListenUnixSeqpacket(config.tenant_socket(), kTenantSocketMode));
  RB_TRY(UniqueFd admin_listener, ListenUnixStream(config.admin_socket(), kAdminSocketMode));
  RB_TRY(UniqueFd metrics_listener, ListenTcp(config.metrics_address, config.metrics_port));
  TenantServer tenants(
      {.loop = loop,
       .attach = attach,
       .node = node,
       .leases = leases,
       .events = events,
       .processes = processes,
       .refusals =
           metrics.AddCounter("rdma_agent_refusals_total",
                              "Requests on the tenant socket that were refused, by reason."),
       .opens = metrics.AddCounter("rdma_agent_opens_total", "Device files handed to processes."),
       .attach_time = metrics.AddHistogram(
           "rdma_agent_attach_seconds",
           "Time to answer a process: step=grant from its connection on, "
           "step=open for one device.",
           {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 1})},
      std::move(tenant_listener));
  NodeApi node_api(
      {.pool = pool,
       .resources = resources,
       .clock = clock,
       .node = node,
       .leases = leases,
       .events = events,
       .attachments = attachments,
       .service = service,
       .requests = metrics.AddCounter("rdma_agent_requests_total",
                                      "Requests on the admin socket, by route and status."),
       .host = host});
  NodeMetrics node_metrics(node, leases, ended_traffic, cgroups, resources);
  metrics.AddCollector([&](MetricsWriter& out) { node_metrics.Collect(out); });
  HealthApi health(metrics);
  HttpServer admin(loop, std::move(admin_listener),
                   [&](HttpRequest request) { return node_api.Handle(std::move(request)); });
  HttpServer monitor(loop, std::move(metrics_listener),
                     [&](HttpRequest request) { return health.Handle(std::move(request)); });
  PeriodicTimer denial_timer(loop);
  PeriodicTimer settle_timer(loop);

  // Start: live leases first, so that nobody is told "no lease" who has one.
  monitor.Start();
  loop.RunUntil(hotplug.Start());
  const rest::Checkpoint saved = LoadState(config, &events);
  events.SkipTo(saved.next_event);
  leases.FromCheckpoint(saved);
  loop.RunUntil(service.Restore(saved.boot_id == host.boot_id));
  denial_timer.Start(kDenialPeriod, [&] { settler.ReportDenials(); });
  settle_timer.Start(config.settle_period, [&] {
    service.Tick();
    for (const LeaseRecord* lease : leases.Live()) loop.Spawn(settler.Settle(lease->id()));
  });
  tenants.Start();
  admin.Start();
  health.SetReady();
  RB_LOG_INFO("node {}: {} devices, {} live leases, tenants at {}, admin at {}, metrics at {}:{}",
              node.traits().name, node.inventory().devices.size(), leases.live_count(),
              config.tenant_socket(), config.admin_socket(), config.metrics_address,
              config.metrics_port);

  const int signal = loop.RunUntilSignalled();
  RB_LOG_INFO("signal {}: stopping; leases and their traffic go on", signal);
  tenants.Stop();
  loop.RunUntil(admin.Stop());
  loop.RunUntil(monitor.Stop());
  auto stored = SaveCheckpoint(
      config.checkpoint_path(),
      rest::DumpCheckpoint(leases.ToCheckpoint(host.boot_id, events.next_sequence())));
  return stored;
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
