#include "shim/config.h"

#include <cstdlib>
#include <cstring>

#include "api/wire/text.h"

namespace rb::shim {
namespace {

struct LevelName {
  const char* name;
  LogLevel level;
};
constexpr auto kLevels = std::to_array<LevelName>({
    {"off", LogLevel::kOff},
    {"error", LogLevel::kError},
    {"info", LogLevel::kInfo},
    {"trace", LogLevel::kTrace},
});

}  // namespace

bool ParseLog(const char* text, Config* config) {
  const char* colon = std::strchr(text, ':');
  const std::size_t length =
      colon == nullptr ? std::strlen(text) : static_cast<std::size_t>(colon - text);
  for (const LevelName& level : kLevels) {
    if (std::strlen(level.name) != length || std::strncmp(level.name, text, length) != 0) continue;
    if (colon != nullptr && !wire::SetText(&config->log_path, colon + 1)) return false;
    config->log_level = level.level;
    return true;
  }
  return false;
}

// NOLINTBEGIN(concurrency-mt-unsafe): read once, while the program is being loaded
void LoadConfig(Config* config) {
  wire::SetText(&config->socket, kDefaultSocket);
  const char* socket = std::getenv("RDMA_AGENT_SOCKET");
  if (socket != nullptr && socket[0] != '\0' && std::strlen(socket) < kPathBytes) {
    wire::SetText(&config->socket, socket);
  }
  const char* token = std::getenv("RDMA_LEASE");
  // A cut token would only be a wrong one.
  if (token != nullptr && !wire::SetText(&config->token, token)) config->token.fill('\0');
  const char* log = std::getenv("RDMA_SHIM_LOG");
  if (log != nullptr) ParseLog(log, config);
}
// NOLINTEND(concurrency-mt-unsafe)

}  // namespace rb::shim
