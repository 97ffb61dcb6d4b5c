#include "api/rest/format.h"

#include <algorithm>
#include <array>

#include "api/rest/json.h"

namespace rb::rest {
namespace {

using internal::OrderedJson;

// Parses with order kept. The strict parser runs first: it bounds depth and refuses duplicates.
Result<OrderedJson> ParseOrdered(std::string_view json) {
  RB_TRY(const internal::Json checked, internal::ParseJson(json, internal::kAnswerBytesMax));
  return OrderedJson::parse(json.begin(), json.end(), nullptr, false);
}

// Plain style is only for what no YAML reader takes for a number, a boolean, null, a date or
// syntax; everything else is a JSON string, which YAML reads as it is.
bool IsPlain(std::string_view text) {
  constexpr std::array<std::string_view, 9> kWords{"true", "false", "null", "yes", "no",
                                                   "on",   "off",   "y",    "n"};
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto safe = [&](char c) {
    return letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.' || c == '/';
  };
  if (text.empty() || !letter(text.front()) || !std::ranges::all_of(text, safe)) return false;
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  });
  return std::ranges::find(kWords, lower) == kWords.end();
}

std::string Scalar(const OrderedJson& value) {
  if (value.is_string() && IsPlain(value.get_ref<const std::string&>())) {
    return value.get<std::string>();
  }
  return internal::DumpJson(value);
}

bool IsBlock(const OrderedJson& value) { return value.is_structured() && !value.empty(); }

void AppendBlock(const OrderedJson& value, std::size_t indent, std::string* out);

void AppendEntry(const OrderedJson& value, std::size_t indent, std::string* out) {
  if (!IsBlock(value)) {
    *out += ' ' + Scalar(value) + '\n';
    return;
  }
  *out += '\n';
  AppendBlock(value, indent, out);
}

// REQUIRES: IsBlock(value).
void AppendBlock(const OrderedJson& value, std::size_t indent, std::string* out) {
  for (const auto& [key, item] : value.items()) {
    out->append(indent, ' ');
    if (value.is_object()) {
      *out += Scalar(OrderedJson(key)) + ':';
      AppendEntry(item, indent + 2, out);
    } else if (IsBlock(item)) {
      // "- " stands in the first line's indentation of the item.
      std::string block;
      AppendBlock(item, indent + 2, &block);
      *out += "- " + block.substr(indent + 2);
    } else {
      *out += "- " + Scalar(item) + '\n';
    }
  }
}

}  // namespace

Result<std::string> IndentJson(std::string_view json) {
  RB_TRY(const OrderedJson value, ParseOrdered(json));
  return value.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + '\n';
}

Result<std::string> JsonToYaml(std::string_view json) {
  RB_TRY(const OrderedJson value, ParseOrdered(json));
  if (!IsBlock(value)) return Scalar(value) + '\n';
  std::string yaml;
  AppendBlock(value, 0, &yaml);
  return yaml;
}

}  // namespace rb::rest
