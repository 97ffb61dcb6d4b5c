// JSON text laid out for people: indented, or as YAML. For the command line's -o json and -o yaml.
//
// Threading: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "common/base/result.h"

namespace rb::rest {

// The same JSON with two spaces of indentation and a newline at the end; order is kept.
// Errors: kInvalid, reason "malformed".
Result<std::string> IndentJson(std::string_view json);

// The same value as a YAML 1.2 document in block style, order kept. Strings that YAML would read as
// something else are quoted. Errors: kInvalid, reason "malformed".
Result<std::string> JsonToYaml(std::string_view json);

}  // namespace rb::rest
