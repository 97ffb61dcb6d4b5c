// Builds one JSON object from a value: the other half of reader.h. Private to api/rest.
//
// It has the Reader's functions, so that one list of fields serves both; ranges and rules are the
// reader's business. Threading: thread-compatible.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/rest/json.h"
#include "api/rest/reader.h"
#include "api/rest/text_rules.h"

namespace rb::rest::internal {

class Writer {
 public:
  static constexpr bool kReads = false;

  void Required(const char* /*name*/) {}

  template <class T>
  void Integer(const char* name, const T& value, IntegerRange /*range*/ = {}) {
    object_[name] = value;
  }
  template <class T>
  void MaybeInteger(const char* name, const std::optional<T>& value, IntegerRange /*range*/ = {}) {
    if (value) object_[name] = *value;
  }
  void MaybeSigned(const char* name, const std::optional<std::int32_t>& value) {
    if (value) object_[name] = *value;
  }
  void Bool(const char* name, bool value) { object_[name] = value; }
  void Text(const char* name, const std::string& value, const TextRule& /*rule*/ = kAnyText) {
    object_[name] = value;
  }
  void OptionalText(const char* name, const std::string& value,
                    const TextRule& /*rule*/ = kAnyText) {
    if (!value.empty()) object_[name] = value;
  }
  void TextList(const char* name, const std::vector<std::string>& value, std::size_t /*max*/,
                const TextRule& /*rule*/ = kAnyText) {
    object_[name] = value;
  }
  void TextMap(const char* name, const std::map<std::string, std::string>& value,
               std::size_t /*max*/, const TextRule& /*key*/ = kAnyText,
               const TextRule& /*value*/ = kAnyText) {
    WriteMap(name, value);
  }
  void IntegerMap(const char* name, const std::map<std::string, std::uint64_t>& value,
                  std::size_t /*max*/) {
    WriteMap(name, value);
  }
  template <class E, std::size_t N>
  void Choice(const char* name, const E& value, const std::array<std::string_view, N>& names) {
    object_[name] = std::string(names.at(static_cast<std::size_t>(value)));
  }
  template <class T, class Fields>
  void Object(const char* name, const T& value, Fields fields) {
    object_[name] = Write(value, fields);
  }
  template <class T, class Fields>
  void List(const char* name, const std::vector<T>& value, std::size_t /*max*/, Fields fields) {
    OrderedJson list = OrderedJson::array();
    for (const T& item : value) list.push_back(Write(item, fields));
    object_[name] = std::move(list);
  }
  template <class T, class Fields>
  void ObjectMap(const char* name, const std::map<std::string, T>& value, std::size_t /*max*/,
                 Fields fields) {
    OrderedJson map = OrderedJson::object();
    for (const auto& [key, item] : value) map[key] = Write(item, fields);
    object_[name] = std::move(map);
  }

  template <class T, class Fields>
  static OrderedJson Write(const T& value, Fields fields) {
    Writer writer;
    fields(writer, value);
    return std::move(writer.object_);
  }

 private:
  template <class T>
  void WriteMap(const char* name, const std::map<std::string, T>& value) {
    OrderedJson map = OrderedJson::object();
    for (const auto& [key, item] : value) map[key] = item;
    object_[name] = std::move(map);
  }

  OrderedJson object_ = OrderedJson::object();
};

template <class T, class Fields>
std::string Dump(const T& value, Fields fields) {
  return DumpJson(Writer::Write(value, fields));
}

// {"items": [...]}: every list of the API.
template <class Fields>
struct ListFields {
  Fields fields;
  std::size_t count_max;

  template <class Io, class L>
  void operator()(Io& io, L& items) const {
    io.Required("items");
    io.List("items", items, count_max, fields);
  }
};

}  // namespace rb::rest::internal
