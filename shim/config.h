// The shim's settings: RDMA_LEASE, RDMA_SHIM_LOG and RDMA_AGENT_SOCKET. The only reader of the
// environment in the shim.
//
// Read once, at load. Threading: written before the program's main, constant after.
#pragma once

#include <cstdint>

#include "api/wire/frames.h"

namespace rb::shim {

enum class LogLevel : std::uint8_t { kOff, kError, kInfo, kTrace };

inline constexpr std::size_t kPathBytes = 256;
inline constexpr const char* kDefaultSocket = "/run/rdma-broker/tenant/agent.sock";

struct Config {
  wire::Text<wire::kTokenBytes> token{};  // empty: the cgroup or uid says who we are
  std::array<char, kPathBytes> socket{};  // the agent's tenant socket
  LogLevel log_level = LogLevel::kOff;
  std::array<char, kPathBytes> log_path{};  // empty: standard error
};

// Parses RDMA_SHIM_LOG: off|error|info|trace, then optionally ":file". Returns false, leaving the
// log off, for anything else.
bool ParseLog(const char* text, Config* config);

// Fills `config` from the environment. What does not fit or parse is left at its default: a
// preload library has nobody to complain to.
void LoadConfig(Config* config);

}  // namespace rb::shim
