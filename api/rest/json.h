// JSON text to a tree and back, with the limits that untrusted text needs. Private to api/rest.
//
// The parser refuses what a tree would hide: duplicate keys, deep nesting, text that is too long
// and bytes that are not UTF-8. What the fields mean is reader.h's business.
// Threading: pure functions. Ownership: values.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "common/base/result.h"

namespace rb::rest::internal {

using Json = nlohmann::json;
// Keeps the order in which fields were added: what we print. Its look-up is linear, so untrusted
// text is never parsed into it.
using OrderedJson = nlohmann::ordered_json;

inline constexpr std::size_t kRequestBytesMax = std::size_t{1} << 20;
inline constexpr std::size_t kAnswerBytesMax = std::size_t{64} << 20;
inline constexpr std::size_t kDepthMax = 16;

// Errors: kInvalid; reason "malformed" (not JSON, not UTF-8, a duplicate key, nested deeper than
// kDepthMax), or "too_large".
Result<Json> ParseJson(std::string_view text, std::size_t bytes_max);

// Compact text. Bytes that are not UTF-8 (a process may be called anything) become U+FFFD.
std::string DumpJson(const OrderedJson& json);

// `pointer` + "/" + `name`, escaped as RFC 6901 wants.
std::string Below(std::string_view pointer, std::string_view name);

// The pointer as messages show it: the root, whose pointer is empty, is "body".
std::string_view Shown(std::string_view pointer);

}  // namespace rb::rest::internal
