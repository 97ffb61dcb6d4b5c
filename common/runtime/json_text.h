// The little JSON that the runtime writes itself: log lines and problem documents.
//
// Everything larger is api/rest's. Threading: stateless.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace rb {

// `text` in double quotes, escaped; bytes that are not UTF-8 become U+FFFD. Also a valid YAML
// scalar.
std::string QuoteJson(std::string_view text);

// The length of the well-formed UTF-8 sequence at the start of `text`; 0 when there is none.
std::size_t Utf8Length(std::string_view text);

}  // namespace rb
