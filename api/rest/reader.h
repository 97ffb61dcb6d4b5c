// A strict reader of one JSON object. Private to api/rest.
//
// A resource's fields are listed once, in a functor `operator()(Io& io, T& value)` that runs with a
// Reader (JSON -> value) or a Writer (value -> JSON, writer.h); so what is written is what is read.
//
//   struct RateFields {
//     template <class Io, class T>
//     void operator()(Io& io, T& rate) const {
//       io.Integer("burst_bytes", rate.burst_bytes, {.min = 4096, .max = 1 << 30});
//     }
//   };
//   RB_TRY(Rate rate, Read<Rate>(text, RateFields{}, kRequestBytesMax));
//
// An absent field leaves the value as it is (its default), unless Required() names it. The first
// mistake is kept and everything after it is skipped; a field that nobody asked for is a mistake.
// Threading: thread-compatible. Ownership: borrows the tree, the target and the Failure.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/rest/json.h"
#include "api/rest/text_rules.h"
#include "common/base/result.h"

namespace rb::rest::internal {

struct IntegerRange {
  std::uint64_t min = 0;
  std::uint64_t max = std::numeric_limits<std::uint64_t>::max();
};

// The first mistake found in a body.
class Failure {
 public:
  void Set(std::string_view pointer, std::string_view what, std::string_view reason);
  bool happened() const { return error_.has_value(); }
  const Error& error() const { return *error_; }

 private:
  std::optional<Error> error_;
};

class Reader {
 public:
  static constexpr bool kReads = true;

  Reader(const Json& object, std::string pointer, Failure* failure);

  void Required(const char* name);
  bool Has(const char* name) const;

  template <std::unsigned_integral T>
    requires(!std::same_as<T, bool>)
  void Integer(const char* name, T& to, IntegerRange range = {}) {
    const std::uint64_t type_max = std::numeric_limits<T>::max();
    if (range.max > type_max) range.max = type_max;
    if (const auto value = ReadUnsigned(name, range)) to = static_cast<T>(*value);
  }
  template <std::unsigned_integral T>
  void MaybeInteger(const char* name, std::optional<T>& to, IntegerRange range = {}) {
    T value = 0;
    const bool present = Has(name);
    Integer(name, value, range);
    if (present && !failure_->happened()) to = value;
  }
  void MaybeSigned(const char* name, std::optional<std::int32_t>& to);

  void Bool(const char* name, bool& to);
  void Text(const char* name, std::string& to, const TextRule& rule = kAnyText);
  // The same for the reader; the writer leaves an empty one out.
  void OptionalText(const char* name, std::string& to, const TextRule& rule = kAnyText) {
    Text(name, to, rule);
  }
  void TextList(const char* name, std::vector<std::string>& to, std::size_t count_max,
                const TextRule& rule = kAnyText);
  void TextMap(const char* name, std::map<std::string, std::string>& to, std::size_t count_max,
               const TextRule& key_rule = kAnyText, const TextRule& value_rule = kAnyText);
  void IntegerMap(const char* name, std::map<std::string, std::uint64_t>& to,
                  std::size_t count_max);

  // An enum whose values are 0, 1, … and whose names stand in that order.
  template <class E, std::size_t N>
  void Choice(const char* name, E& to, const std::array<std::string_view, N>& names) {
    if (const auto index = ReadChoice(name, names)) to = static_cast<E>(*index);
  }

  template <class T, class Fields>
  void Object(const char* name, T& to, Fields fields) {
    if (const Json* json = Take(name)) ReadInto(*json, Below(pointer_, name), to, fields);
  }
  template <class T, class Fields>
  void List(const char* name, std::vector<T>& to, std::size_t count_max, Fields fields) {
    const Json* json = TakeContainer(name, Json::value_t::array, count_max);
    if (json == nullptr) return;
    to.clear();
    for (std::size_t i = 0; i < json->size() && !failure_->happened(); ++i) {
      ReadInto((*json)[i], Below(Below(pointer_, name), std::to_string(i)), to.emplace_back(),
               fields);
    }
  }
  template <class T, class Fields>
  void ObjectMap(const char* name, std::map<std::string, T>& to, std::size_t count_max,
                 Fields fields) {
    const Json* json = TakeContainer(name, Json::value_t::object, count_max);
    if (json == nullptr) return;
    to.clear();
    for (const auto& [key, value] : json->items()) {
      if (failure_->happened()) return;
      ReadInto(value, Below(Below(pointer_, name), key), to[key], fields);
    }
  }

  // For rules that span fields; `name` empty means the object itself.
  void Refuse(std::string_view name, std::string_view what, std::string_view reason);
  void Missing(std::string_view name, std::string_view what);

  // Reports a field that nobody asked for, then one that is missing: a misspelt name is both, and
  // the first says more.
  void Finish();

 private:
  template <class T, class Fields>
  void ReadInto(const Json& json, std::string pointer, T& to, Fields fields) {
    Reader inner(json, std::move(pointer), failure_);
    fields(inner, to);
    inner.Finish();
  }

  // The field's value, or null when it is absent or something failed before.
  const Json* Take(const char* name);
  const Json* TakeContainer(const char* name, Json::value_t type, std::size_t count_max);
  std::optional<std::uint64_t> ReadUnsigned(const char* name, IntegerRange range);
  std::optional<std::size_t> ReadChoice(const char* name, std::span<const std::string_view> names);
  bool CheckText(const Json& value, const std::string& pointer, const TextRule& rule);
  std::optional<std::uint64_t> CheckUnsigned(const Json& value, const std::string& pointer,
                                             IntegerRange range);

  const Json& object_;
  std::string pointer_;
  Failure* failure_;
  std::vector<std::string_view> asked_;
  std::optional<std::pair<std::string_view, std::string_view>> missing_;  // name, what
};

// Parses `text` into a T that starts as its defaults. Errors: those of ParseJson and Reader.
template <class T, class Fields>
Result<T> ReadTree(const Json& json, Fields fields) {
  T value{};
  Failure failure;
  Reader reader(json, "", &failure);
  fields(reader, value);
  reader.Finish();
  if (failure.happened()) return tl::unexpected<Error>(failure.error());
  return value;
}
template <class T, class Fields>
Result<T> Read(std::string_view text, Fields fields, std::size_t bytes_max) {
  RB_TRY(const Json json, ParseJson(text, bytes_max));
  return ReadTree<T>(json, fields);
}

}  // namespace rb::rest::internal
