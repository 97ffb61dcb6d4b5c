// Finds the end of an HTTP/1.1 head (start line and headers) in a growing buffer, strictly.
//
// Parsers differ in what they forgive, and that difference is how requests are smuggled. So before
// the parser sees a head, every line must end in CR LF, no line may be a folded continuation, and
// no NUL or bare CR may occur. What the lines mean is http_parser.h's business. Pure; threading:
// values.
#pragma once

#include <cstddef>
#include <string_view>

namespace rb {

enum class HeadState { kIncomplete, kComplete, kBroken };

class HeadScanner {
 public:
  // `data` begins with what the previous calls saw and may have grown. Linear over all calls.
  HeadState Scan(std::string_view data);

  // kComplete: the head's length with its empty line. 2 means a bare empty line before a request.
  std::size_t head_bytes() const { return head_bytes_; }

  // kBroken: what is wrong, for people.
  std::string_view problem() const { return problem_; }

 private:
  HeadState Break(std::string_view problem);

  std::size_t position_ = 0;
  std::size_t line_start_ = 0;
  std::size_t head_bytes_ = 0;
  std::string_view problem_;
};

}  // namespace rb
