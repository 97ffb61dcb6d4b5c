#include "common/runtime/json_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

namespace rb {
namespace {

unsigned char Byte(std::string_view text, std::size_t at) {
  return static_cast<unsigned char>(text[at]);
}

void AppendQuoted(std::string& out, char c) {
  switch (c) {
    case '"':
    case '\\':
      out += '\\';
      out += c;
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
        fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned char>(c));
      } else {
        out += c;
      }
  }
}

}  // namespace

std::size_t Utf8Length(std::string_view text) {
  // Table 3-7 of the Unicode standard: the second byte's range rules out overlong forms, surrogates
  // and values past U+10FFFF.
  struct Row {
    unsigned char first_min, first_max, second_min, second_max;
    std::size_t length;
  };
  static constexpr std::array<Row, 7> kRows{{{0xC2, 0xDF, 0x80, 0xBF, 2},
                                             {0xE0, 0xE0, 0xA0, 0xBF, 3},
                                             {0xE1, 0xEC, 0x80, 0xBF, 3},
                                             {0xED, 0xED, 0x80, 0x9F, 3},
                                             {0xEE, 0xEF, 0x80, 0xBF, 3},
                                             {0xF0, 0xF0, 0x90, 0xBF, 4},
                                             {0xF1, 0xF4, 0x80, 0xBF, 4}}};
  if (text.empty()) return 0;
  const unsigned char first = Byte(text, 0);
  if (first < 0x80) return 1;
  for (const Row& row : kRows) {
    if (first < row.first_min || first > row.first_max) continue;
    const unsigned char second_max = first == 0xF4 ? 0x8F : row.second_max;
    if (text.size() < row.length || Byte(text, 1) < row.second_min || Byte(text, 1) > second_max) {
      return 0;
    }
    for (std::size_t i = 2; i < row.length; ++i) {
      if ((Byte(text, i) & 0xC0) != 0x80) return 0;
    }
    return row.length;
  }
  return 0;
}

std::string QuoteJson(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const std::size_t length = Utf8Length(text);
    if (length == 1) {
      AppendQuoted(out, text.front());
    } else if (length == 0) {
      out += "\xEF\xBF\xBD";
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  out += '"';
  return out;
}

}  // namespace rb
