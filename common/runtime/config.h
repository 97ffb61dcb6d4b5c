// Layered configuration of a daemon: a YAML file, then the environment, then flags; the later wins.
//
//   ConfigSchema schema("rdma-agent", "RDMA_AGENT", "0.1.0");
//   schema.Add("listen_address", &config.listen_address, "Address of the metrics port.");
//   schema.Add("audit_period", &config.audit_period, "Time between audits.", {.min = 100ms, .max =
//   1min}); RB_TRY(const ConfigOutcome outcome, schema.Load(argc, argv)); if (outcome.exit)
//   ...print outcome.text and stop...
//
// An option "audit_period" is the YAML key audit_period, the variable RDMA_AGENT_AUDIT_PERIOD and
// the flag
// --audit-period (or --audit_period); a bool's flag may stand alone. Built in: --config FILE (or
// RDMA_AGENT_CONFIG), --print-config, --help, --version.
// A field keeps its value from before Load() as the default. Unknown keys and flags, wrong types
// and values out of range are errors that name the file and line, variable or flag, and what is
// allowed. Unknown variables with the prefix are ignored: the shim and Kubernetes also make such
// names.
//
// Ownership: fields are borrowed and must outlive the schema. Threading: used once, by main.
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/result.h"

namespace rb {

// Refuses a value with a message that says what is allowed.
using ConfigValidator = std::function<Result<void>(const std::string&)>;

struct IntegerRange {
  std::int64_t min = std::numeric_limits<std::int64_t>::min();
  std::int64_t max = std::numeric_limits<std::int64_t>::max();
};

struct DurationRange {
  std::chrono::nanoseconds min{0};
  std::chrono::nanoseconds max = std::chrono::nanoseconds::max();
};

struct ByteRange {
  std::uint64_t min = 0;
  std::uint64_t max = std::numeric_limits<std::uint64_t>::max();
};

// One entry of a section that maps names to small records: `gold: {dscp: 26, sl: 3}`.
struct ConfigRecord {
  std::string name;
  std::map<std::string, std::string> fields;
  bool operator==(const ConfigRecord&) const = default;
};

struct ConfigSection {
  std::string name;
  std::string help;
  std::vector<std::string> fields;  // what a record may hold; anything else is refused
  // Called once when the file has the section, before its records: drop the defaults.
  std::function<void()> clear;
  // Called for each record of the file. An error is prefixed with file and line.
  std::function<Result<void>(const ConfigRecord&)> read;
  // The records in effect, for --print-config.
  std::function<std::vector<ConfigRecord>()> show;
};

// What Load() asks of main: to go on, or to print `text` on stdout and exit with success.
struct ConfigOutcome {
  bool exit = false;
  std::string text;
};

class ConfigSchema {
 public:
  ConfigSchema(std::string program, std::string environment_prefix, std::string version);

  // Binds an option to a field. REQUIRES: a new snake_case name.
  void Add(std::string name, std::string* field, std::string help, ConfigValidator validator = {});
  void Add(std::string name, bool* field, std::string help);
  // A YAML list; in variables and flags separated by commas. The validator sees each item.
  void Add(std::string name, std::vector<std::string>* field, std::string help,
           ConfigValidator validator = {});
  // "1500", "64KiB", "2GiB", "10MB".
  void AddBytes(std::string name, std::uint64_t* field, std::string help, ByteRange range = {});

  template <std::integral T>
    requires(!std::same_as<T, bool>)
  void Add(std::string name, T* field, std::string help, IntegerRange range = {});

  // "250us", "50ms", "5s", "2m", "1h", "7d".
  template <class Rep, class Period>
  void Add(std::string name, std::chrono::duration<Rep, Period>* field, std::string help,
           DurationRange range = {});

  // A nested section, from the file only.
  void AddSection(ConfigSection section);

  // Reads file, environment and flags into the fields. On an error some fields may have changed.
  Result<ConfigOutcome> Load(int argc, const char* const* argv);
  // The same, for tests: `arguments` without the program's name.
  Result<ConfigOutcome> Load(std::span<const std::string> arguments,
                             const std::map<std::string, std::string>& environment);

  // The values in effect, as a YAML file that gives them again.
  std::string EffectiveYaml() const;

  // The options as a Markdown table. Call it before Load(): it shows the fields as defaults.
  std::string Markdown() const;

 private:
  struct Option {
    std::string name;
    std::string help;
    std::string type;  // what is allowed, for people: "integer 1..65535"
    bool is_bool = false;
    bool is_list = false;
    bool is_text = false;  // quoted in YAML
    std::function<Result<void>(const std::vector<std::string>&)> set =
        {};  // one item unless is_list
    std::function<std::vector<std::string>()> show = {};
  };

  // What one command line says, before any value is checked.
  struct CommandLine {
    bool help = false;
    bool version = false;
    bool print_config = false;
    std::optional<std::string> config_file;
    std::vector<std::pair<const Option*, std::string>> flags;
  };

  void AddInteger(std::string name, std::string help, IntegerRange range,
                  std::function<void(std::int64_t)> set, std::function<std::int64_t()> get);
  void AddDuration(std::string name, std::string help, DurationRange range,
                   std::chrono::nanoseconds unit, std::function<void(std::chrono::nanoseconds)> set,
                   std::function<std::chrono::nanoseconds()> get);
  void AddOption(Option option);

  const Option* FindOption(std::string_view name) const;
  Result<void> ReadFile(const std::string& path);
  Result<void> ReadYaml(const std::string& path, const std::string& content);
  Result<void> ReadEnvironment(const std::map<std::string, std::string>& environment);
  Result<CommandLine> ReadCommandLine(std::span<const std::string> arguments) const;
  // The value of the flag at the front of `rest`, which is removed with it.
  static Result<std::string> TakeValue(std::span<const std::string>* rest, bool is_bool);
  static Result<void> SetFromText(const Option& option, const std::string& text,
                                  const std::string& where);
  std::string Names() const;
  std::string VariableOf(std::string_view option) const;
  std::string HelpText() const;

  std::string program_;
  std::string prefix_;
  std::string version_;
  std::vector<Option> options_;
  std::vector<ConfigSection> sections_;
};

// "1500", "64KiB", "10MB" to bytes and back (the largest binary unit that divides it).
Result<std::uint64_t> ParseBytes(std::string_view text);
std::string FormatBytes(std::uint64_t bytes);

// "50ms", "1h" and back (the largest unit that divides it). A bare number other than 0 is refused.
Result<std::chrono::nanoseconds> ParseDuration(std::string_view text);
std::string FormatDuration(std::chrono::nanoseconds duration);

template <std::integral T>
  requires(!std::same_as<T, bool>)
void ConfigSchema::Add(std::string name, T* field, std::string help, IntegerRange range) {
  // The type's own limits narrow the range; the parser works on int64.
  if (std::cmp_greater(std::numeric_limits<T>::min(), range.min)) {
    range.min = static_cast<std::int64_t>(std::numeric_limits<T>::min());
  }
  if (std::cmp_less(std::numeric_limits<T>::max(), range.max)) {
    range.max = static_cast<std::int64_t>(std::numeric_limits<T>::max());
  }
  AddInteger(
      std::move(name), std::move(help), range,
      [field](std::int64_t value) { *field = static_cast<T>(value); },
      [field] { return static_cast<std::int64_t>(*field); });
}

template <class Rep, class Period>
void ConfigSchema::Add(std::string name, std::chrono::duration<Rep, Period>* field,
                       std::string help, DurationRange range) {
  using Field = std::chrono::duration<Rep, Period>;
  AddDuration(
      std::move(name), std::move(help), range, std::chrono::nanoseconds(Field(1)),
      [field](std::chrono::nanoseconds value) {
        *field = std::chrono::duration_cast<Field>(value);
      },
      [field] { return std::chrono::nanoseconds(*field); });
}

}  // namespace rb
