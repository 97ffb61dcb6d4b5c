// The daemons' log: one line per event on stderr.
//
//   2026-12-01T10:46:57.123Z info lease 0a1b attached pid=4711
//
// RB_LOG_INFO("lease {} attached pid={}", id, pid): the format is checked when compiling. Control
// characters, backslashes and bytes that are not UTF-8 in the finished message are escaped (\n, \\,
// \x1b), so a tenant that chooses a name cannot forge a line or move a terminal's cursor.
//
// Leaves do not log: whoever handles an error does, once. Not for the shim.
// Threading: thread-safe. Level and format are process-wide: main sets them once at start.
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "common/base/result.h"

namespace rb {

enum class LogLevel : std::uint8_t { kDebug, kInfo, kWarn, kError, kOff };

// "debug", "info", "warn", "error" or "off". Errors: kInvalid, names what is allowed.
Result<void> SetLogLevel(std::string_view name);

// "text" (above) or "json": {"time":"...","level":"info","message":"..."}. Errors: kInvalid.
Result<void> SetLogFormat(std::string_view name);

bool LogEnabled(LogLevel level);

// Writes one line; use the macros instead.
void WriteLog(LogLevel level, std::string_view message);

// `text` with everything escaped that could break a line; reversible.
std::string EscapeLogText(std::string_view text);

}  // namespace rb

// The arguments are evaluated only when the level is on.
#define RB_LOG_AT(level, ...)                                                       \
  do {                                                                              \
    if (::rb::LogEnabled(level)) ::rb::WriteLog(level, ::fmt::format(__VA_ARGS__)); \
  } while (false)
#define RB_LOG_DEBUG(...) RB_LOG_AT(::rb::LogLevel::kDebug, __VA_ARGS__)
#define RB_LOG_INFO(...) RB_LOG_AT(::rb::LogLevel::kInfo, __VA_ARGS__)
#define RB_LOG_WARN(...) RB_LOG_AT(::rb::LogLevel::kWarn, __VA_ARGS__)
#define RB_LOG_ERROR(...) RB_LOG_AT(::rb::LogLevel::kError, __VA_ARGS__)
