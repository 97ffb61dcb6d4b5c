#include "common/runtime/log.h"

#include <fmt/format.h>
#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <iterator>
#include <memory>

#include "common/runtime/json_text.h"

namespace rb {
namespace {

constexpr std::array<std::string_view, 5> kLevelNames{"debug", "info", "warn", "error", "off"};

std::string_view NameOf(LogLevel level) { return kLevelNames[static_cast<std::size_t>(level)]; }

// spdlog brings the sink (one write a line, with a lock) and the timestamp.
struct Log {
  Log() : logger("rb", std::make_shared<spdlog::sinks::stderr_sink_mt>()) {
    logger.set_level(spdlog::level::trace);  // LogEnabled() decides
    logger.flush_on(spdlog::level::trace);
    SetPattern("%Y-%m-%dT%H:%M:%S.%eZ %v");
  }

  void SetPattern(const std::string& pattern) {
    logger.set_formatter(
        std::make_unique<spdlog::pattern_formatter>(pattern, spdlog::pattern_time_type::utc));
  }

  spdlog::logger logger;
  std::atomic<LogLevel> level{LogLevel::kInfo};
  std::atomic<bool> json{false};
};

// The process has one standard error, so it has one log.
Log& TheLog() {
  static Log log;
  return log;
}

// A C1 control character (U+0080..U+009F) in UTF-8; some terminals obey them.
bool IsC1(std::string_view text, std::size_t length) {
  return length == 2 && text[0] == '\xC2' && static_cast<unsigned char>(text[1]) < 0xA0;
}

void AppendEscaped(std::string& out, std::string_view bytes) {
  for (const char c : bytes) {
    fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<unsigned char>(c));
  }
}

void AppendEscapedAscii(std::string& out, char c) {
  if (c == '\n') {
    out += "\\n";
  } else if (c == '\\') {
    out += "\\\\";
  } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
    AppendEscaped(out, {&c, 1});
  } else {
    out += c;
  }
}

}  // namespace

Result<void> SetLogLevel(std::string_view name) {
  const auto* const found = std::ranges::find(kLevelNames, name);
  if (found == kLevelNames.end()) {
    return Fail(ErrorCode::kInvalid, "log level \"" + std::string(name) +
                                         "\": allowed are debug, info, warn, error, off");
  }
  TheLog().level = static_cast<LogLevel>(found - kLevelNames.begin());
  return {};
}

Result<void> SetLogFormat(std::string_view name) {
  if (name != "text" && name != "json") {
    return Fail(ErrorCode::kInvalid,
                "log format \"" + std::string(name) + "\": allowed are text, json");
  }
  const bool json = name == "json";
  TheLog().json = json;
  TheLog().SetPattern(json ? R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ",%v})" : "%Y-%m-%dT%H:%M:%S.%eZ %v");
  return {};
}

bool LogEnabled(LogLevel level) { return level >= TheLog().level.load(std::memory_order_relaxed); }

void WriteLog(LogLevel level, std::string_view message) {
  const std::string line =
      TheLog().json ? fmt::format(R"("level":"{}","message":{})", NameOf(level), QuoteJson(message))
                    : fmt::format("{} {}", NameOf(level), EscapeLogText(message));
  TheLog().logger.log(spdlog::level::info, line);
}

std::string EscapeLogText(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = Utf8Length(text);
    const std::size_t taken = std::max<std::size_t>(length, 1);
    if (length == 1) {
      AppendEscapedAscii(out, text.front());
    } else if (length == 0 || IsC1(text, length)) {
      AppendEscaped(out, text.substr(0, taken));
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(taken);
  }
  return out;
}

}  // namespace rb
