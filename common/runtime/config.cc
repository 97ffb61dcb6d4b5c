#include "common/runtime/config.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <system_error>

#include "common/runtime/json_text.h"

namespace rb {
namespace {

std::string Underscored(std::string_view flag) {
  std::string name(flag);
  std::ranges::replace(name, '-', '_');
  return name;
}

std::string FlagOf(std::string_view option) {
  std::string flag(option);
  std::ranges::replace(flag, '_', '-');
  return "--" + flag;
}

std::vector<std::string> SplitCommas(const std::string& text) {
  std::vector<std::string> items;
  std::size_t start = 0;
  while (start < text.size()) {
    const std::size_t end = std::min(text.find(',', start), text.size());
    items.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return items;
}

std::string JoinQuoted(const std::vector<std::string>& items) {
  std::string text;
  for (const std::string& item : items) text += (text.empty() ? "" : ", ") + QuoteJson(item);
  return "[" + text + "]";
}

std::string EscapeTableCell(std::string text) {
  for (std::size_t at = text.find('|'); at != std::string::npos; at = text.find('|', at + 2)) {
    text.insert(at, "\\");
  }
  return text;
}

std::string RangeText(const IntegerRange& range) {
  return "integer " + std::to_string(range.min) + " to " + std::to_string(range.max);
}

std::map<std::string, std::string> ProcessEnvironment() {
  std::map<std::string, std::string> environment;
  for (char** entry = ::environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::size_t equals = text.find('=');
    if (equals != std::string::npos) environment[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return environment;
}

}  // namespace

ConfigSchema::ConfigSchema(std::string program, std::string environment_prefix, std::string version)
    : program_(std::move(program)),
      prefix_(std::move(environment_prefix)),
      version_(std::move(version)) {}

void ConfigSchema::AddOption(Option option) {
  RB_CHECK(FindOption(option.name) == nullptr);
  RB_CHECK(option.name != "config" && option.name != "print_config" && option.name != "help" &&
           option.name != "version");
  options_.push_back(std::move(option));
}

void ConfigSchema::Add(std::string name, std::string* field, std::string help,
                       ConfigValidator validator) {
  Option option{.name = std::move(name), .help = std::move(help), .type = "text"};
  option.is_text = true;
  option.set = [field, validator = std::move(validator)](
                   const std::vector<std::string>& items) -> Result<void> {
    if (validator) {
      RB_TRY_VOID(validator(items.front()));
    }
    *field = items.front();
    return {};
  };
  option.show = [field] { return std::vector<std::string>{*field}; };
  AddOption(std::move(option));
}

void ConfigSchema::Add(std::string name, bool* field, std::string help) {
  Option option{.name = std::move(name), .help = std::move(help), .type = "true or false"};
  option.is_bool = true;
  option.set = [field](const std::vector<std::string>& items) -> Result<void> {
    if (items.front() != "true" && items.front() != "false") {
      return Fail(ErrorCode::kInvalid, "\"" + items.front() + "\" is not true or false");
    }
    *field = items.front() == "true";
    return {};
  };
  option.show = [field] { return std::vector<std::string>{*field ? "true" : "false"}; };
  AddOption(std::move(option));
}

void ConfigSchema::Add(std::string name, std::vector<std::string>* field, std::string help,
                       ConfigValidator validator) {
  Option option{.name = std::move(name), .help = std::move(help), .type = "list of texts"};
  option.is_text = true;
  option.is_list = true;
  option.set = [field, validator = std::move(validator)](
                   const std::vector<std::string>& items) -> Result<void> {
    for (const std::string& item : items) {
      if (validator) {
        RB_TRY_VOID(validator(item));
      }
    }
    *field = items;
    return {};
  };
  option.show = [field] { return *field; };
  AddOption(std::move(option));
}

void ConfigSchema::AddBytes(std::string name, std::uint64_t* field, std::string help,
                            ByteRange range) {
  Option option{.name = std::move(name), .help = std::move(help), .type = "size"};
  if (range.min != 0 || range.max != ByteRange().max) {
    option.type += " " + FormatBytes(range.min) + " to " + FormatBytes(range.max);
  }
  option.set = [field, range,
                type = option.type](const std::vector<std::string>& items) -> Result<void> {
    RB_TRY(const std::uint64_t value, ParseBytes(items.front()));
    if (value < range.min || value > range.max) {
      return Fail(ErrorCode::kInvalid, items.front() + " is out of range: " + type);
    }
    *field = value;
    return {};
  };
  option.show = [field] { return std::vector<std::string>{FormatBytes(*field)}; };
  AddOption(std::move(option));
}

void ConfigSchema::AddInteger(std::string name, std::string help, IntegerRange range,
                              std::function<void(std::int64_t)> set,
                              std::function<std::int64_t()> get) {
  Option option{.name = std::move(name), .help = std::move(help), .type = RangeText(range)};
  option.set = [set = std::move(set), range,
                type = option.type](const std::vector<std::string>& items) -> Result<void> {
    const std::string& text = items.front();
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool whole = error == std::errc() && end == text.data() + text.size();
    if (!whole || value < range.min || value > range.max) {
      return Fail(ErrorCode::kInvalid, "\"" + text + "\" is not allowed: " + type);
    }
    set(value);
    return {};
  };
  option.show = [get = std::move(get)] { return std::vector<std::string>{std::to_string(get())}; };
  AddOption(std::move(option));
}

void ConfigSchema::AddDuration(std::string name, std::string help, DurationRange range,
                               std::chrono::nanoseconds unit,
                               std::function<void(std::chrono::nanoseconds)> set,
                               std::function<std::chrono::nanoseconds()> get) {
  Option option{.name = std::move(name), .help = std::move(help), .type = "duration"};
  if (range.max != DurationRange().max) {
    option.type += " " + FormatDuration(range.min) + " to " + FormatDuration(range.max);
  } else if (range.min.count() > 0) {
    option.type += " from " + FormatDuration(range.min);
  }
  option.set = [set = std::move(set), range, unit,
                type = option.type](const std::vector<std::string>& items) -> Result<void> {
    RB_TRY(const std::chrono::nanoseconds value, ParseDuration(items.front()));
    if (value < range.min || value > range.max) {
      return Fail(ErrorCode::kInvalid, items.front() + " is out of range: " + type);
    }
    if (value.count() % unit.count() != 0) {
      return Fail(ErrorCode::kInvalid, items.front() + " is finer than " + FormatDuration(unit));
    }
    set(value);
    return {};
  };
  option.show = [get = std::move(get)] { return std::vector<std::string>{FormatDuration(get())}; };
  AddOption(std::move(option));
}

void ConfigSchema::AddSection(ConfigSection section) {
  RB_CHECK(FindOption(section.name) == nullptr);
  RB_CHECK(section.clear && section.read && section.show);
  sections_.push_back(std::move(section));
}

const ConfigSchema::Option* ConfigSchema::FindOption(std::string_view name) const {
  const auto found =
      std::ranges::find_if(options_, [&](const Option& option) { return option.name == name; });
  return found == options_.end() ? nullptr : &*found;
}

std::string ConfigSchema::VariableOf(std::string_view option) const {
  std::string variable = prefix_ + "_";
  for (const char c : option) variable += static_cast<char>(std::toupper(c));
  return variable;
}

std::string ConfigSchema::Names() const {
  std::string names;
  for (const Option& option : options_) names += (names.empty() ? "" : ", ") + option.name;
  for (const ConfigSection& section : sections_) {
    names += (names.empty() ? "" : ", ") + section.name;
  }
  return names;
}

Result<void> ConfigSchema::SetFromText(const Option& option, const std::string& text,
                                       const std::string& where) {
  auto set = option.set(option.is_list ? SplitCommas(text) : std::vector<std::string>{text});
  if (!set) set.error().message = where + ": " + set.error().message;
  return set;
}

Result<void> ConfigSchema::ReadEnvironment(const std::map<std::string, std::string>& environment) {
  for (const Option& option : options_) {
    const std::string variable = VariableOf(option.name);
    const auto found = environment.find(variable);
    if (found != environment.end()) {
      RB_TRY_VOID(SetFromText(option, found->second, variable));
    }
  }
  return {};
}

Result<ConfigOutcome> ConfigSchema::Load(int argc, const char* const* argv) {
  const std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
  return Load(arguments, ProcessEnvironment());
}

Result<std::string> ConfigSchema::TakeValue(std::span<const std::string>* rest, bool is_bool) {
  const std::string& argument = rest->front();
  *rest = rest->subspan(1);
  const std::size_t equals = argument.find('=');
  if (equals != std::string::npos) return argument.substr(equals + 1);
  if (is_bool) return std::string("true");
  if (rest->empty()) return Fail(ErrorCode::kInvalid, argument + ": needs a value");
  std::string value = rest->front();
  *rest = rest->subspan(1);
  return value;
}

Result<ConfigSchema::CommandLine> ConfigSchema::ReadCommandLine(
    std::span<const std::string> arguments) const {
  CommandLine line;
  while (!arguments.empty()) {
    const std::string flag = arguments.front().substr(0, arguments.front().find('='));
    const std::string name = flag.starts_with("--") ? Underscored(flag.substr(2)) : std::string();
    // These two stop before anything else is looked at.
    line.help = name == "help" || flag == "-h";
    line.version = name == "version";
    if (line.help || line.version) return line;
    if (name == "print_config") {
      line.print_config = true;
      arguments = arguments.subspan(1);
      continue;
    }
    const Option* option = FindOption(name);
    if (option == nullptr && name != "config") {
      return Fail(ErrorCode::kInvalid, "unknown flag " + flag + ": see " + program_ + " --help");
    }
    RB_TRY(std::string value, TakeValue(&arguments, option != nullptr && option->is_bool));
    if (option == nullptr) {
      line.config_file = std::move(value);
    } else {
      line.flags.emplace_back(option, std::move(value));
    }
  }
  return line;
}

Result<ConfigOutcome> ConfigSchema::Load(std::span<const std::string> arguments,
                                         const std::map<std::string, std::string>& environment) {
  RB_TRY(CommandLine line, ReadCommandLine(arguments));
  if (line.help) return ConfigOutcome{.exit = true, .text = HelpText()};
  if (line.version) return ConfigOutcome{.exit = true, .text = program_ + " " + version_ + "\n"};

  const auto from_environment = environment.find(VariableOf("config"));
  if (!line.config_file && from_environment != environment.end()) {
    line.config_file = from_environment->second;
  }
  if (line.config_file) {
    RB_TRY_VOID(ReadFile(*line.config_file));
  }
  RB_TRY_VOID(ReadEnvironment(environment));
  for (const auto& [option, value] : line.flags) {
    RB_TRY_VOID(SetFromText(*option, value, FlagOf(option->name)));
  }
  if (line.print_config) return ConfigOutcome{.exit = true, .text = EffectiveYaml()};
  return ConfigOutcome{};
}

std::string ConfigSchema::EffectiveYaml() const {
  std::string yaml;
  for (const Option& option : options_) {
    const std::vector<std::string> values = option.show();
    yaml += option.name + ": ";
    if (option.is_list) {
      yaml += JoinQuoted(values);
    } else {
      yaml += option.is_text ? QuoteJson(values.front()) : values.front();
    }
    yaml += "\n";
  }
  for (const ConfigSection& section : sections_) {
    const std::vector<ConfigRecord> records = section.show();
    yaml += section.name + (records.empty() ? ": {}\n" : ":\n");
    for (const ConfigRecord& record : records) {
      std::string fields;
      for (const auto& [name, value] : record.fields) {
        fields += (fields.empty() ? "" : ", ") + name + ": " + QuoteJson(value);
      }
      yaml += "  " + QuoteJson(record.name) + ": {" + fields + "}\n";
    }
  }
  return yaml;
}

std::string ConfigSchema::HelpText() const {
  std::string text = "usage: " + program_ + " [--config FILE] [flags]\n\n" +
                     "Settings come from the file, then " + prefix_ +
                     "_* variables, then flags; the later wins.\n\n";
  for (const Option& option : options_) {
    text += "  " + FlagOf(option.name) + "  (" + option.type + ")\n      " + option.help + "\n";
  }
  for (const ConfigSection& section : sections_) {
    text += "  " + section.name + ":  (file only)\n      " + section.help + "\n";
  }
  text += "  --config FILE\n      The YAML file to read.\n";
  text += "  --print-config\n      Print the values in effect as YAML and exit.\n";
  text += "  --help, --version\n";
  return text;
}

std::string ConfigSchema::Markdown() const {
  std::string text =
      "| key | variable | flag | allowed | default | what |\n|---|---|---|---|---|---|\n";
  for (const Option& option : options_) {
    const std::vector<std::string> values = option.show();
    const std::string shown = option.is_list ? JoinQuoted(values) : values.front();
    text += "| `" + option.name + "` | `" + VariableOf(option.name) + "` | `" +
            FlagOf(option.name) + "` | " + EscapeTableCell(option.type) + " | " +
            (shown.empty() ? "" : "`" + EscapeTableCell(shown) + "`") + " | " +
            EscapeTableCell(option.help) + " |\n";
  }
  for (const ConfigSection& section : sections_) {
    std::string fields;
    for (const std::string& field : section.fields) fields += (fields.empty() ? "" : ", ") + field;
    text += "| `" + section.name + "` | | | map of name to {" + fields + "} | | " +
            EscapeTableCell(section.help) + " |\n";
  }
  return text;
}

}  // namespace rb
