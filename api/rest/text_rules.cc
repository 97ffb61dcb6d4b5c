#include "api/rest/text_rules.h"

#include <algorithm>

namespace rb::rest::internal {
namespace {

bool IsLower(char c) { return c >= 'a' && c <= 'z'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLetter(char c) { return IsLower(c) || (c >= 'A' && c <= 'Z'); }

bool IsOneOf(char c, std::string_view set) { return set.find(c) != std::string_view::npos; }

// Control characters would let a label move a terminal's cursor or forge a log line.
bool HasControl(std::string_view text) {
  return std::ranges::any_of(
      text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; });
}

}  // namespace

bool IsName(std::string_view text) {
  if (text.empty() || text.size() > 63) return false;
  if (!IsLower(text.front()) && !IsDigit(text.front())) return false;
  return std::ranges::all_of(text,
                             [](char c) { return IsLower(c) || IsDigit(c) || IsOneOf(c, "-."); });
}

bool IsDeviceName(std::string_view text) {
  if (text.empty() || text.size() > 63) return false;
  return std::ranges::all_of(text,
                             [](char c) { return IsLetter(c) || IsDigit(c) || IsOneOf(c, "_-."); });
}

bool IsLinkLayer(std::string_view text) { return text == "ethernet" || text == "infiniband"; }

bool IsLabelKey(std::string_view text) {
  if (text.empty() || text.size() > 128) return false;
  if (!IsLetter(text.front()) && !IsDigit(text.front())) return false;
  return std::ranges::all_of(
      text, [](char c) { return IsLetter(c) || IsDigit(c) || IsOneOf(c, "-_./"); });
}

bool IsLabelValue(std::string_view text) { return text.size() <= 128 && !HasControl(text); }

bool IsReason(std::string_view text) {
  return !text.empty() && text.size() <= 200 && !HasControl(text);
}

bool IsCgroupPath(std::string_view text) {
  if (text.size() < 2 || text.size() > 1024 || text.front() != '/' || HasControl(text)) {
    return false;
  }
  while (!text.empty()) {
    text.remove_prefix(1);  // the slash
    const std::string_view segment = text.substr(0, text.find('/'));
    if (segment.empty() || segment == "." || segment == ".." || segment.size() > 255) return false;
    text.remove_prefix(segment.size());
  }
  return true;
}

bool IsAnyText(std::string_view text) { return text.size() <= 65536; }

}  // namespace rb::rest::internal
