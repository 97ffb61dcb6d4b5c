// The command line: arguments in, one command out. CLI11 stays in options.cc.
//
// Threading: pure function.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "cli/lease_flags.h"
#include "common/base/result.h"

namespace rb::cli {

inline constexpr const char* kDefaultAdminSocket = "/run/rdma-broker/admin.sock";

enum class Format : std::uint8_t { kTable, kJson, kYaml };
enum class Kind : std::uint8_t { kLeases, kDevices, kNode, kProcesses, kEvents };

struct GetOptions {
  Kind kind = Kind::kLeases;
  std::string name;        // empty: all; leases and devices only
  bool detailed = false;   // `describe`
  std::string since = {};  // events only
  std::string limit = {};  // events only
};
struct CreateOptions {
  LeaseFlags lease;
  WorkloadFlags workload;
};
struct PatchOptions {
  std::string id;
  LeaseFlags lease;
};
struct RenewOptions {
  std::string id;
  std::string ttl = "1h";
};
struct RevokeOptions {
  std::string id;
  std::string grace = "0s";
  std::string reason;
};
struct RunOptions {
  LeaseFlags lease;
  std::string uid;
  std::string gid;
  std::string shim;          // empty: looked for beside the program and where it is installed
  std::string agent_socket;  // empty: beside the admin socket
  std::string lease_token;
  bool keep_devices = false;
  bool rdma_cm = false;
  bool verbose = false;
  std::vector<std::string> command;
};

using Command =
    std::variant<GetOptions, CreateOptions, PatchOptions, RenewOptions, RevokeOptions, RunOptions>;

struct Options {
  std::string admin_socket = kDefaultAdminSocket;
  Format format = Format::kTable;
  Command command;
  std::string text;  // not empty: --help or --version was asked; print it and stop
};

// `arguments` without the program's name. Errors: kInvalid, with what is wrong and how to see help.
Result<Options> ParseOptions(std::span<const std::string> arguments);

}  // namespace rb::cli
