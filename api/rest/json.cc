#include "api/rest/json.h"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace rb::rest::internal {
namespace {

// Builds the tree from the parser's events, so that it can stop at the first thing we refuse: the
// library's own builder lets the last of two equal keys win and has no bound on depth.
class TreeBuilder {
 public:
  using number_integer_t = Json::number_integer_t;
  using number_unsigned_t = Json::number_unsigned_t;
  using number_float_t = Json::number_float_t;
  using string_t = Json::string_t;
  using binary_t = Json::binary_t;

  // The names of these functions are the library's SAX interface.
  bool null() { return Put(nullptr); }
  bool boolean(bool value) { return Put(value); }
  bool number_integer(number_integer_t value) { return Put(value); }
  bool number_unsigned(number_unsigned_t value) { return Put(value); }
  bool number_float(number_float_t value, const string_t&) { return Put(value); }
  bool string(string_t& value) { return Put(std::move(value)); }
  bool binary(binary_t&) { return Refuse("binary values are not JSON"); }
  bool start_object(std::size_t) { return Open(Json::object()); }
  bool start_array(std::size_t) { return Open(Json::array()); }
  bool end_object() { return Close(); }
  bool end_array() { return Close(); }

  bool key(string_t& name) {
    if (open_.back()->contains(name)) return Refuse("duplicate key \"" + name + "\"");
    key_ = std::move(name);
    return true;
  }

  template <class Exception>
  bool parse_error(std::size_t position, const std::string&, const Exception&) {
    return Refuse("not valid JSON at byte " + std::to_string(position));
  }

  Json TakeRoot() { return std::move(root_); }
  const std::string& refusal() const { return refusal_; }

 private:
  Json* Add(Json value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    Json& parent = *open_.back();
    if (parent.is_array()) {
      parent.push_back(std::move(value));
      return &parent.back();
    }
    // The pointers in open_ stay valid: only the innermost container ever grows.
    return &(parent[std::exchange(key_, {})] = std::move(value));
  }

  bool Put(Json value) {
    Add(std::move(value));
    return true;
  }

  bool Open(Json container) {
    if (open_.size() == kDepthMax) {
      return Refuse("nested deeper than " + std::to_string(kDepthMax) + " levels");
    }
    open_.push_back(Add(std::move(container)));
    return true;
  }

  bool Close() {
    open_.pop_back();
    return true;
  }

  bool Refuse(std::string why) {
    if (refusal_.empty()) refusal_ = std::move(why);
    return false;
  }

  Json root_;
  std::vector<Json*> open_;
  std::string key_;
  std::string refusal_;
};

}  // namespace

Result<Json> ParseJson(std::string_view text, std::size_t bytes_max) {
  if (text.size() > bytes_max) {
    return Fail(ErrorCode::kInvalid, "body: larger than " + std::to_string(bytes_max) + " bytes",
                "too_large");
  }
  TreeBuilder builder;
  if (!Json::sax_parse(text.begin(), text.end(), &builder)) {
    return Fail(ErrorCode::kInvalid, "body: " + builder.refusal(), "malformed");
  }
  return builder.TakeRoot();
}

std::string DumpJson(const OrderedJson& json) {
  return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

std::string Below(std::string_view pointer, std::string_view name) {
  std::string below(pointer);
  below += '/';
  for (const char c : name) {
    if (c == '~') {
      below += "~0";
    } else if (c == '/') {
      below += "~1";
    } else {
      below += c;
    }
  }
  return below;
}

std::string_view Shown(std::string_view pointer) { return pointer.empty() ? "body" : pointer; }

}  // namespace rb::rest::internal
