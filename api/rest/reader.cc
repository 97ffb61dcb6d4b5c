#include "api/rest/reader.h"

#include <algorithm>
#include <cmath>

namespace rb::rest::internal {
namespace {

std::string_view TypeName(const Json& value) {
  switch (value.type()) {
    case Json::value_t::null:
      return "null";
    case Json::value_t::object:
      return "an object";
    case Json::value_t::array:
      return "an array";
    case Json::value_t::string:
      return "a string";
    case Json::value_t::boolean:
      return "a boolean";
    case Json::value_t::number_float:
      return "a number with a fraction or an exponent";
    default:
      return "a number";
  }
}

std::string WrongType(const Json& value, std::string_view want) {
  return std::string(TypeName(value)) + " where " + std::string(want) + " is wanted";
}

std::string Allowed(IntegerRange range) {
  return "an integer from " + std::to_string(range.min) + " to " + std::to_string(range.max);
}

// Integers beyond 64 bits arrive as floating point; they are too large, not of the wrong type.
constexpr double kBeyondIntegers = 9.2e18;

}  // namespace

void Failure::Set(std::string_view pointer, std::string_view what, std::string_view reason) {
  if (error_) return;
  error_ = Error{.code = ErrorCode::kInvalid,
                 .message = std::string(Shown(pointer)) + ": " + std::string(what),
                 .reason = std::string(reason)};
}

Reader::Reader(const Json& object, std::string pointer, Failure* failure)
    : object_(object), pointer_(std::move(pointer)), failure_(failure) {
  if (!object.is_object()) failure_->Set(pointer_, WrongType(object, "an object"), "wrong_type");
}

void Reader::Required(const char* name) {
  if (!Has(name)) Missing(name, "required, but missing");
}

bool Reader::Has(const char* name) const { return !failure_->happened() && object_.contains(name); }

void Reader::MaybeSigned(const char* name, std::optional<std::int32_t>& to) {
  const Json* value = Take(name);
  if (value == nullptr) return;
  if (!value->is_number_integer()) {
    failure_->Set(Below(pointer_, name), WrongType(*value, "an integer"), "wrong_type");
    return;
  }
  using Bounds = std::numeric_limits<std::int32_t>;
  const bool fits = value->is_number_unsigned()
                        ? std::in_range<std::int32_t>(value->get<std::uint64_t>())
                        : std::in_range<std::int32_t>(value->get<std::int64_t>());
  if (!fits) {
    failure_->Set(Below(pointer_, name),
                  value->dump() + " is outside " + std::to_string(Bounds::min()) + ".." +
                      std::to_string(Bounds::max()),
                  "out_of_range");
    return;
  }
  to = value->get<std::int32_t>();
}

void Reader::Bool(const char* name, bool& to) {
  const Json* value = Take(name);
  if (value == nullptr) return;
  if (!value->is_boolean()) {
    failure_->Set(Below(pointer_, name), WrongType(*value, "true or false"), "wrong_type");
    return;
  }
  to = value->get<bool>();
}

void Reader::Text(const char* name, std::string& to, const TextRule& rule) {
  const Json* value = Take(name);
  if (value == nullptr || !CheckText(*value, Below(pointer_, name), rule)) return;
  to = value->get_ref<const std::string&>();
}

void Reader::TextList(const char* name, std::vector<std::string>& to, std::size_t count_max,
                      const TextRule& rule) {
  const Json* list = TakeContainer(name, Json::value_t::array, count_max);
  if (list == nullptr) return;
  to.clear();
  for (std::size_t i = 0; i < list->size(); ++i) {
    const Json& value = (*list)[i];
    if (!CheckText(value, Below(Below(pointer_, name), std::to_string(i)), rule)) return;
    to.push_back(value.get_ref<const std::string&>());
  }
}

void Reader::TextMap(const char* name, std::map<std::string, std::string>& to,
                     std::size_t count_max, const TextRule& key_rule, const TextRule& value_rule) {
  const Json* map = TakeContainer(name, Json::value_t::object, count_max);
  if (map == nullptr) return;
  to.clear();
  for (const auto& [key, value] : map->items()) {
    const std::string pointer = Below(Below(pointer_, name), key);
    if (!key_rule.accepts(key)) {
      failure_->Set(pointer, std::string("bad key; allowed: ") + key_rule.allowed, "out_of_range");
    }
    if (!CheckText(value, pointer, value_rule)) return;
    to[key] = value.get_ref<const std::string&>();
  }
}

void Reader::IntegerMap(const char* name, std::map<std::string, std::uint64_t>& to,
                        std::size_t count_max) {
  const Json* map = TakeContainer(name, Json::value_t::object, count_max);
  if (map == nullptr) return;
  to.clear();
  for (const auto& [key, value] : map->items()) {
    const auto number = CheckUnsigned(value, Below(Below(pointer_, name), key), {});
    if (!number) return;
    to[key] = *number;
  }
}

void Reader::Refuse(std::string_view name, std::string_view what, std::string_view reason) {
  failure_->Set(name.empty() ? pointer_ : Below(pointer_, name), what, reason);
}

void Reader::Missing(std::string_view name, std::string_view what) {
  if (!missing_) missing_ = {name, what};
}

void Reader::Finish() {
  if (failure_->happened()) return;
  for (const auto& [key, value] : object_.items()) {
    if (std::ranges::find(asked_, key) == asked_.end()) {
      failure_->Set(Below(pointer_, key), "unknown field", "unknown_field");
      return;
    }
  }
  if (missing_) Refuse(missing_->first, missing_->second, "missing_field");
}

const Json* Reader::Take(const char* name) {
  asked_.emplace_back(name);
  if (failure_->happened()) return nullptr;
  const auto found = object_.find(name);
  return found == object_.end() ? nullptr : &*found;
}

const Json* Reader::TakeContainer(const char* name, Json::value_t type, std::size_t count_max) {
  const Json* value = Take(name);
  if (value == nullptr) return nullptr;
  if (value->type() != type) {
    failure_->Set(Below(pointer_, name), WrongType(*value, TypeName(Json(type))), "wrong_type");
    return nullptr;
  }
  if (value->size() > count_max) {
    failure_->Set(Below(pointer_, name),
                  std::to_string(value->size()) + " entries; at most " + std::to_string(count_max) +
                      " are allowed",
                  "out_of_range");
    return nullptr;
  }
  return value;
}

std::optional<std::uint64_t> Reader::ReadUnsigned(const char* name, IntegerRange range) {
  const Json* value = Take(name);
  if (value == nullptr) return std::nullopt;
  return CheckUnsigned(*value, Below(pointer_, name), range);
}

std::optional<std::size_t> Reader::ReadChoice(const char* name,
                                              std::span<const std::string_view> names) {
  const Json* value = Take(name);
  if (value == nullptr || !CheckText(*value, Below(pointer_, name), kAnyText)) return std::nullopt;
  const auto found = std::ranges::find(names, value->get_ref<const std::string&>());
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  std::string allowed;
  for (const std::string_view one : names) {
    allowed += (allowed.empty() ? "" : ", ") + std::string(one);
  }
  failure_->Set(Below(pointer_, name), "not one of: " + allowed, "out_of_range");
  return std::nullopt;
}

bool Reader::CheckText(const Json& value, const std::string& pointer, const TextRule& rule) {
  if (failure_->happened()) return false;
  if (!value.is_string()) {
    failure_->Set(pointer, WrongType(value, "a string"), "wrong_type");
    return false;
  }
  if (!rule.accepts(value.get_ref<const std::string&>())) {
    failure_->Set(pointer, std::string("bad value; allowed: ") + rule.allowed, "out_of_range");
    return false;
  }
  return true;
}

std::optional<std::uint64_t> Reader::CheckUnsigned(const Json& value, const std::string& pointer,
                                                   IntegerRange range) {
  const bool beyond = value.is_number_float() && std::abs(value.get<double>()) >= kBeyondIntegers;
  if (!value.is_number_integer() && !beyond) {
    failure_->Set(pointer, WrongType(value, "an integer"), "wrong_type");
    return std::nullopt;
  }
  // The library stores every non-negative integer as unsigned, so what is not is negative.
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    if (number >= range.min && number <= range.max) return number;
  }
  failure_->Set(pointer, value.dump() + " is not allowed; allowed: " + Allowed(range),
                "out_of_range");
  return std::nullopt;
}

}  // namespace rb::rest::internal
