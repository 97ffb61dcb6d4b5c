// Is this packet a frame that a tenant may send, and which? Pure: bytes in, a request or a refusal
// out.
//
// Strict: a frame has exactly the size of its type, texts end in NUL, reserved fields are 0, a
// request brings no descriptors. Anything else closes the connection: a peer that does not speak
// the protocol gets no answer that it could misread. Threading: pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <variant>

#include "common/base/result.h"

namespace rb::agent {

struct EnterFrame {
  std::uint32_t sequence = 0;
  std::string token;
  bool operator==(const EnterFrame&) const = default;
};
struct HelloFrame {
  std::uint32_t sequence = 0;
  std::string token;  // empty: the cgroup or uid says who it is
  bool operator==(const HelloFrame&) const = default;
};
struct OpenFrame {
  std::uint32_t sequence = 0;
  std::string device;
  bool operator==(const OpenFrame&) const = default;
};
using RequestFrame = std::variant<EnterFrame, HelloFrame, OpenFrame>;

// Errors: kInvalid with reason "bad_frame" or "wrong_version", and what is wrong for the log.
Result<RequestFrame> CheckFrame(std::span<const std::byte> packet, std::size_t fd_count);

}  // namespace rb::agent
