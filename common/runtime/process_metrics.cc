#include "common/runtime/process_metrics.h"

#include <sys/resource.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>

#include "common/base/files.h"

namespace rb {
namespace {

// Fields of /proc/self/stat, counted as proc(5) does, after the command's name.
constexpr std::size_t kFirstFieldAfterName = 3;
constexpr std::size_t kUserTicks = 14;
constexpr std::size_t kSystemTicks = 15;
constexpr std::size_t kStartTicks = 22;
constexpr std::size_t kResidentPages = 24;

std::optional<double> Field(std::string_view text, std::size_t index) {
  for (std::size_t i = 0; i < index; ++i) {
    const std::size_t space = text.find(' ');
    if (space == std::string_view::npos) return std::nullopt;
    text.remove_prefix(space + 1);
  }
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  return value;
}

// Seconds since the epoch at boot.
std::optional<double> BootSeconds() {
  const auto stat = ReadSmallFile("/proc/stat");
  if (!stat) return std::nullopt;
  const std::size_t at = stat->find("\nbtime ");
  if (at == std::string::npos) return std::nullopt;
  return Field(std::string_view(*stat).substr(at + 1), 1);
}

void CollectStat(MetricsWriter& writer) {
  const auto stat = ReadSmallFile("/proc/self/stat");
  if (!stat) return;
  // The name may hold spaces and parentheses; the last one closes it.
  const std::size_t name_end = stat->rfind(") ");
  if (name_end == std::string::npos) return;
  const std::string_view fields = std::string_view(*stat).substr(name_end + 2);
  const auto field = [&](std::size_t number) {
    return Field(fields, number - kFirstFieldAfterName);
  };

  const auto ticks_per_second = static_cast<double>(::sysconf(_SC_CLK_TCK));
  const auto user = field(kUserTicks);
  const auto system = field(kSystemTicks);
  if (user && system) {
    writer.Counter("process_cpu_seconds_total", "User and system CPU time of this process.", {},
                   (*user + *system) / ticks_per_second);
  }
  if (const auto pages = field(kResidentPages)) {
    writer.Gauge("process_resident_memory_bytes", "Resident memory of this process.", {},
                 *pages * static_cast<double>(::sysconf(_SC_PAGESIZE)));
  }
  const auto started = field(kStartTicks);
  const auto boot = BootSeconds();
  if (started && boot) {
    writer.Gauge("process_start_time_seconds", "When this process started, in Unix time.", {},
                 *boot + (*started / ticks_per_second));
  }
}

void CollectFds(MetricsWriter& writer) {
  std::error_code error;
  std::filesystem::directory_iterator entry("/proc/self/fd", error);
  if (!error) {
    double count = -1;  // the iterator's own descriptor
    for (; entry != std::filesystem::directory_iterator(); entry.increment(error)) ++count;
    writer.Gauge("process_open_fds", "Open file descriptors of this process.", {}, count);
  }
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    writer.Gauge("process_max_fds", "Limit of open file descriptors.", {},
                 static_cast<double>(limit.rlim_cur));
  }
}

}  // namespace

void CollectProcessMetrics(MetricsWriter& writer) {
  CollectStat(writer);
  CollectFds(writer);
}

}  // namespace rb
