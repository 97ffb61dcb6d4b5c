#include "cli/options.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <map>

namespace rb::cli {
namespace {

constexpr const char* kVersion = "rdmactl 0.1.0";

std::map<std::string, Format> Formats() {
  return {{"table", Format::kTable}, {"json", Format::kJson}, {"yaml", Format::kYaml}};
}

std::map<std::string, Kind> ListKinds() {
  return {{"leases", Kind::kLeases},  {"lease", Kind::kLeases}, {"devices", Kind::kDevices},
          {"device", Kind::kDevices}, {"node", Kind::kNode},    {"processes", Kind::kProcesses},
          {"events", Kind::kEvents}};
}

std::map<std::string, Kind> OneKinds() {
  return {{"lease", Kind::kLeases}, {"device", Kind::kDevices}, {"node", Kind::kNode}};
}

// Everything a parse can fill in; `command` is set by the subcommand that was named.
struct Parsed {
  Options options;
  GetOptions get;
  CreateOptions create;
  PatchOptions patch;
  RenewOptions renew;
  RevokeOptions revoke;
  RunOptions run;
};

void AddLeaseFlags(CLI::App* app, LeaseFlags* flags) {
  app->add_option("--device", flags->devices, "A device by its RDMA name; may be repeated")
      ->expected(1)
      ->take_all();
  app->add_option("--devices", flags->device_count, "How many devices, when any will do");
  app->add_option("--link-layer", flags->link_layer, "ethernet or infiniband");
  for (const wire::LimitRow& row : wire::kLimitTable) {
    app->add_option(FlagOf(row), flags->limits.at(wire::Index(row.limit)),
                    std::string("Most ") + row.title)
        ->group("Limits");
  }
  app->add_option("--traffic-class", flags->traffic_class,
                  "A class of the node (see: rdmactl describe node), or none");
  app->add_option("--on-foreign-class", flags->on_foreign_class, "rewrite or refuse");
  app->add_option("--rate", flags->rate, "Most per second and device: 10Gbps, 20MiB/s; 0: no rate");
  app->add_option("--burst", flags->burst, "What may pass at once: 1MiB");
  app->add_option("--pacing", flags->pacing, "block or off");
  app->add_option("--devx", flags->devx, "deny or allow");
  app->add_option("--raw", flags->raw, "deny or allow raw packets and flow rules");
  app->add_option("--unknown", flags->unknown, "deny or allow verbs objects nobody knows");
  app->add_option("--accounting", flags->accounting, "on or off: count bytes and messages");
  app->add_option("--label", flags->labels, "key=value; may be repeated; key= removes it")
      ->expected(1)
      ->take_all();
}

void AddTenantAndTtl(CLI::App* app, LeaseFlags* flags) {
  app->add_option("--tenant", flags->tenant, "Whose lease it is");
  app->add_option("--ttl", flags->ttl, "How long it lives unless renewed: 90s, 1h, at most 7d");
}

void AddGet(CLI::App* app, Parsed* parsed) {
  CLI::App* get = app->add_subcommand("get", "List leases, devices, node, processes or events");
  get->add_option("KIND", parsed->get.kind, "leases, devices, node, processes or events")
      ->required()
      ->transform(CLI::CheckedTransformer(ListKinds()).description(""));
  get->add_option("NAME", parsed->get.name, "Only this lease or device");
  get->final_callback([parsed] { parsed->options.command = parsed->get; });

  CLI::App* describe = app->add_subcommand("describe", "Everything about one lease or device");
  describe->add_option("KIND", parsed->get.kind, "lease, device or node")
      ->required()
      ->transform(CLI::CheckedTransformer(OneKinds()).description(""));
  describe->add_option("NAME", parsed->get.name, "Its name");
  describe->final_callback([parsed] {
    parsed->get.detailed = true;
    parsed->options.command = parsed->get;
  });

  CLI::App* events = app->add_subcommand("events", "What happened on the node");
  events->add_option("--since", parsed->get.since, "Only events after this sequence number");
  events->add_option("--limit", parsed->get.limit, "At most so many");
  events->final_callback([parsed] {
    parsed->get.kind = Kind::kEvents;
    parsed->options.command = parsed->get;
  });
}

void AddLeaseChanges(CLI::App* lease, Parsed* parsed) {
  CLI::App* patch = lease->add_subcommand("patch", "Change a running lease");
  patch->add_option("ID", parsed->patch.id, "The lease")->required();
  AddLeaseFlags(patch, &parsed->patch.lease);
  patch->final_callback([parsed] { parsed->options.command = parsed->patch; });

  CLI::App* renew = lease->add_subcommand("renew", "Let a lease live longer, from now");
  renew->add_option("ID", parsed->renew.id, "The lease")->required();
  renew->add_option("--ttl", parsed->renew.ttl, "For how long")->capture_default_str();
  renew->final_callback([parsed] { parsed->options.command = parsed->renew; });

  CLI::App* revoke = lease->add_subcommand("revoke", "Take a lease back");
  revoke->add_option("ID", parsed->revoke.id, "The lease")->required();
  revoke->add_option("--grace", parsed->revoke.grace, "Time to finish first: 500ms, 10s")
      ->capture_default_str();
  revoke->add_option("--reason", parsed->revoke.reason,
                     "Why; \"released\": the holder gives it back");
  revoke->final_callback([parsed] { parsed->options.command = parsed->revoke; });
}

void AddLease(CLI::App* app, Parsed* parsed) {
  CLI::App* lease = app->add_subcommand("lease", "Create, change, renew or revoke a lease");
  lease->require_subcommand(1);
  CLI::App* create = lease->add_subcommand("create", "Grant a lease and show its token once");
  AddTenantAndTtl(create, &parsed->create.lease);
  create->get_option("--tenant")->required();
  AddLeaseFlags(create, &parsed->create.lease);
  create->add_option("--uid", parsed->create.workload.uid, "Only processes of this user");
  create->add_option("--cgroup", parsed->create.workload.cgroup,
                     "The processes of an existing cgroup, instead of a token");
  create->add_flag("--no-token", parsed->create.workload.no_token,
                   "With --uid: every process of the user");
  create->final_callback([parsed] { parsed->options.command = parsed->create; });
  AddLeaseChanges(lease, parsed);
}

void AddRun(CLI::App* app, Parsed* parsed) {
  RunOptions& run = parsed->run;
  CLI::App* sub = app->add_subcommand("run", "Run a command under a lease that ends with it");
  sub->footer(
      "The command stands after --, as in: rdmactl run --qps 8 -- ib_write_bw -d rxe0\n"
      "The lease ends with the command. When rdmactl itself is killed with SIGKILL, the command "
      "is\n"
      "killed too and the lease ends with its --ttl (10 minutes unless given; renewed meanwhile).");
  AddTenantAndTtl(sub, &run.lease);
  AddLeaseFlags(sub, &run.lease);
  sub->add_option("--uid", run.uid, "Run as this user (default: who called sudo)");
  sub->add_option("--gid", run.gid, "Run as this group (default: the user's own)");
  sub->add_flag("--keep-devices", run.keep_devices, "Do not hide /dev/infiniband");
  sub->add_flag("--rdma-cm", run.rdma_cm, "Leave /dev/infiniband/rdma_cm in sight");
  sub->add_option("--shim", run.shim, "The librdma-shim.so to preload");
  sub->add_option("--agent-socket", run.agent_socket, "The agent's tenant socket");
  sub->add_option("--lease-token", run.lease_token,
                  "Use this lease instead of a new one. Others can see an argument for a moment, "
                  "and in the arguments of sudo: better set RDMA_LEASE");
  sub->add_flag("-v,--verbose", run.verbose, "Say on stderr which lease it is");
  sub->final_callback([parsed] { parsed->options.command = parsed->run; });
}

void AddCommands(CLI::App* app, Parsed* parsed) {
  app->require_subcommand(1);
  app->fallthrough();  // --node and -o may stand after the command too
  app->set_version_flag("--version", kVersion);
  app->add_option("--node", parsed->options.admin_socket, "The agent's admin socket")
      ->capture_default_str();
  app->add_option("-o,--output", parsed->options.format, "table, json or yaml")
      ->transform(CLI::CheckedTransformer(Formats()).description(""));
  AddGet(app, parsed);
  AddLease(app, parsed);
  AddRun(app, parsed);
}

Result<void> CheckGet(const GetOptions& get) {
  const bool named = get.kind == Kind::kLeases || get.kind == Kind::kDevices;
  if (!get.name.empty() && !named) {
    return Fail(ErrorCode::kInvalid,
                "only a lease or a device has a name: leave \"" + get.name + "\" out");
  }
  if (get.detailed && named && get.name.empty()) {
    return Fail(ErrorCode::kInvalid, "describe: name the lease or device (see: rdmactl get)");
  }
  return {};
}

// CLI11 answers with exceptions, also to --help.
Result<void> Parse(CLI::App* app, std::span<const std::string> arguments, Parsed* parsed) {
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
  try {
    app->parse(std::move(reversed));
  } catch (const CLI::CallForHelp&) {
    parsed->options.text = app->help();
  } catch (const CLI::CallForVersion&) {
    parsed->options.text = std::string(kVersion) + '\n';
  } catch (const CLI::Error& error) {
    return Fail(ErrorCode::kInvalid, std::string(error.what()) + " (see: rdmactl --help)");
  }
  return {};
}

}  // namespace

Result<Options> ParseOptions(std::span<const std::string> arguments) {
  // What follows "--" is the command's own and must not be looked at.
  const auto dashes = std::ranges::find(arguments, "--");
  const std::vector<std::string> own(arguments.begin(), dashes);
  Parsed parsed;
  CLI::App app("Leases on this node's RDMA devices.", "rdmactl");
  AddCommands(&app, &parsed);
  RB_TRY_VOID(Parse(&app, own, &parsed));
  if (!parsed.options.text.empty()) return std::move(parsed.options);

  auto* run = std::get_if<RunOptions>(&parsed.options.command);
  if (run != nullptr && dashes != arguments.end()) run->command.assign(dashes + 1, arguments.end());
  if (run != nullptr && run->command.empty()) {
    return Fail(ErrorCode::kInvalid,
                "run: no command; write it after --, as in: rdmactl run -- id");
  }
  if (run == nullptr && dashes != arguments.end()) {
    return Fail(ErrorCode::kInvalid, "only run takes a command after --");
  }
  if (const auto* get = std::get_if<GetOptions>(&parsed.options.command)) {
    RB_TRY_VOID(CheckGet(*get));
  }
  return std::move(parsed.options);
}

}  // namespace rb::cli
