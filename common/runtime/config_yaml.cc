// The YAML layer of ConfigSchema: the only file that includes yaml-cpp here. It throws; nothing
// leaves.
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <set>

#include "common/base/files.h"
#include "common/runtime/config.h"

namespace rb {
namespace {

// "agent.yaml:12".
std::string Where(const std::string& path, const YAML::Mark& mark) {
  return path + ":" + std::to_string(mark.line + 1);
}

tl::unexpected<Error> FailAt(const std::string& where, const std::string& message) {
  return Fail(ErrorCode::kInvalid, where + ": " + message);
}

Result<std::string> Scalar(const YAML::Node& node, const std::string& where,
                           const std::string& key) {
  if (!node.IsScalar()) return FailAt(where, key + " needs a single value");
  return node.Scalar();
}

Result<std::vector<std::string>> Items(const YAML::Node& node, const std::string& where,
                                       const std::string& key, bool is_list) {
  std::vector<std::string> items;
  if (!is_list) {
    RB_TRY(std::string value, Scalar(node, where, key));
    items.push_back(std::move(value));
    return items;
  }
  if (!node.IsSequence()) return FailAt(where, key + " needs a list");
  for (const YAML::Node& item : node) {
    RB_TRY(std::string value, Scalar(item, where, "an item of " + key));
    items.push_back(std::move(value));
  }
  return items;
}

Result<ConfigRecord> ReadRecord(const std::string& path, const ConfigSection& section,
                                const std::string& name, const YAML::Node& node,
                                const std::string& where) {
  if (!node.IsMap()) return FailAt(where, section.name + "." + name + " needs a map");
  ConfigRecord record{.name = name, .fields = {}};
  for (const auto& entry : node) {
    const std::string at = Where(path, entry.first.Mark());
    RB_TRY(std::string field, Scalar(entry.first, at, "a key"));
    if (std::ranges::find(section.fields, field) == section.fields.end()) {
      std::string allowed;
      for (const std::string& one : section.fields) allowed += (allowed.empty() ? "" : ", ") + one;
      return FailAt(at, "unknown key " + section.name + "." + name + "." + field +
                            ": allowed are " + allowed);
    }
    RB_TRY(std::string value, Scalar(entry.second, at, field));
    if (!record.fields.emplace(field, std::move(value)).second) {
      return FailAt(at, field + " is given twice");
    }
  }
  return record;
}

Result<void> ReadSection(const std::string& path, const ConfigSection& section,
                         const YAML::Node& node, const std::string& where) {
  if (!node.IsMap()) return FailAt(where, section.name + " needs a map");
  section.clear();
  std::set<std::string> seen;
  for (const auto& entry : node) {
    const std::string at = Where(path, entry.first.Mark());
    RB_TRY(const std::string name, Scalar(entry.first, at, "a key"));
    if (!seen.insert(name).second) return FailAt(at, section.name + "." + name + " is given twice");
    RB_TRY(const ConfigRecord record, ReadRecord(path, section, name, entry.second, at));
    auto read = section.read(record);
    if (!read) return FailAt(at, section.name + "." + name + ": " + read.error().message);
  }
  return {};
}

}  // namespace

Result<void> ConfigSchema::ReadFile(const std::string& path) {
  RB_TRY(const std::string content, ReadSmallFile(path));
  try {
    return ReadYaml(path, content);
  } catch (const YAML::Exception& e) {
    return FailAt(Where(path, e.mark), e.msg);
  }
}

Result<void> ConfigSchema::ReadYaml(const std::string& path, const std::string& content) {
  const YAML::Node root = YAML::Load(content);
  if (root.IsNull()) return {};
  if (!root.IsMap()) return FailAt(Where(path, root.Mark()), "the file needs a map of options");
  std::set<std::string> seen;
  for (const auto& entry : root) {
    const std::string where = Where(path, entry.first.Mark());
    RB_TRY(const std::string key, Scalar(entry.first, where, "a key"));
    if (!seen.insert(key).second) return FailAt(where, key + " is given twice");
    const auto section = std::ranges::find_if(
        sections_, [&](const ConfigSection& candidate) { return candidate.name == key; });
    if (section != sections_.end()) {
      RB_TRY_VOID(ReadSection(path, *section, entry.second, where));
      continue;
    }
    const Option* option = FindOption(key);
    if (option == nullptr) return FailAt(where, "unknown key " + key + ": allowed are " + Names());
    RB_TRY(const auto items, Items(entry.second, where, key, option->is_list));
    const auto set = option->set(items);
    if (!set) return FailAt(where, key + ": " + set.error().message);
  }
  return {};
}

}  // namespace rb
