// The agent's configuration: every option with its default, in one place (docs/configuration.md is
// made from it). Read once, by main.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>

#include "agent/lease/admission.h"
#include "common/runtime/config.h"

namespace rb::agent {

struct Config {
  std::string node_name;  // empty: the host's name
  std::string run_directory = "/run/rdma-broker";
  std::string state_directory = "/var/lib/rdma-agent";
  std::string cgroup_mount = "/sys/fs/cgroup";
  std::string cgroup_parent = "rdma-broker";
  std::string metrics_address = "127.0.0.1";
  std::uint16_t metrics_port = 7472;
  bool restrict_device_nodes = true;
  std::chrono::milliseconds settle_period{1000};
  std::chrono::milliseconds flush_time{50};
  std::chrono::milliseconds exit_time{250};
  std::string log_level = "info";
  std::string log_format = "text";
  std::map<std::string, ClassFacts> traffic_classes;

  // With the traffic classes that are shipped.
  Config();

  std::string tenant_directory() const { return run_directory + "/tenant"; }
  std::string tenant_socket() const { return tenant_directory() + "/agent.sock"; }
  std::string admin_socket() const { return run_directory + "/admin.sock"; }
  std::string policy_directory() const { return run_directory + "/policy"; }
  std::string checkpoint_path() const { return state_directory + "/checkpoint.json"; }
};

// Binds every option to `config`, which must outlive the schema.
void Describe(Config* config, ConfigSchema* schema);

}  // namespace rb::agent
