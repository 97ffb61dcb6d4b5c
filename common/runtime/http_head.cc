#include "common/runtime/http_head.h"

namespace rb {

HeadState HeadScanner::Break(std::string_view problem) {
  problem_ = problem;
  return HeadState::kBroken;
}

HeadState HeadScanner::Scan(std::string_view data) {
  if (!problem_.empty()) return HeadState::kBroken;
  for (; position_ < data.size(); ++position_) {
    const char c = data[position_];
    const bool at_line_start = position_ == line_start_;
    if (c == '\0') return Break("a NUL byte in the headers");
    if (c == '\n') return Break("a line feed without carriage return");
    if (at_line_start && (c == ' ' || c == '\t')) return Break("a line that begins with a space");
    if (c != '\r') continue;
    if (position_ + 1 == data.size()) return HeadState::kIncomplete;  // look again at the CR
    if (data[position_ + 1] != '\n') return Break("a carriage return without line feed");
    ++position_;
    line_start_ = position_ + 1;
    if (at_line_start) {  // an empty line
      head_bytes_ = line_start_;
      return HeadState::kComplete;
    }
  }
  return HeadState::kIncomplete;
}

}  // namespace rb
