#include "shim/log.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>

#include "shim/lock.h"
#include "shim/real.h"

namespace rb::shim {
namespace {

const Config* g_config = nullptr;

}  // namespace

void SetLog(const Config* config) { __atomic_store_n(&g_config, config, __ATOMIC_RELEASE); }

bool LogEnabled(LogLevel level) {
  const Config* config = __atomic_load_n(&g_config, __ATOMIC_ACQUIRE);
  return config != nullptr && level != LogLevel::kOff && level <= config->log_level;
}

void Log(LogLevel level, const char* format, ...) {
  if (!LogEnabled(level)) return;
  const ErrnoGuard keep_errno;
  std::array<char, kLineBytes> line{};
  int used = std::snprintf(line.data(), line.size(), "rdma-shim[%d]: ", static_cast<int>(getpid()));
  va_list arguments;
  va_start(arguments, format);
  used += std::vsnprintf(line.data() + used, line.size() - static_cast<std::size_t>(used) - 1,
                         format, arguments);
  va_end(arguments);
  const int room = static_cast<int>(line.size()) - 2;
  used = std::min(used, room);
  line[static_cast<std::size_t>(used++)] = '\n';

  if (g_config->log_path[0] == '\0') {
    real::Write(STDERR_FILENO, line.data(), static_cast<std::size_t>(used));
    return;
  }
  // Opened for each line: a descriptor of ours could be closed by the application at any time.
  const int fd = real::Open(Fn::kOpen, g_config->log_path.data(),
                            O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return;
  real::Write(fd, line.data(), static_cast<std::size_t>(used));
  real::Close(fd);
}

}  // namespace rb::shim
