// Fuzzes the check of the tenant socket's frames: no packet may crash it, and one that is accepted
// says all there is in it, so that building it again gives the same bytes.
//
// The first byte is the number of descriptors that came along ('0' is none), the rest is the
// packet. Corpus: frame_corpus/.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <variant>

#include "agent/shims/frame_check.h"
#include "api/wire/frames.h"
#include "api/wire/text.h"
#include "common/base/result.h"

namespace rb::agent {
namespace {

template <typename Frame>
void CheckSame(const Frame& rebuilt, std::span<const std::byte> packet) {
  RB_CHECK(packet.size() == sizeof(rebuilt));
  RB_CHECK(std::memcmp(&rebuilt, packet.data(), sizeof(rebuilt)) == 0);
}

struct Rebuild {
  std::span<const std::byte> packet;

  void operator()(const EnterFrame& frame) const {
    auto rebuilt = wire::MakeFrame<wire::EnterRequest>(wire::FrameType::kEnter, frame.sequence);
    RB_CHECK(!frame.token.empty() && wire::SetText(&rebuilt.token, frame.token.c_str()));
    CheckSame(rebuilt, packet);
  }
  void operator()(const HelloFrame& frame) const {
    auto rebuilt = wire::MakeFrame<wire::HelloRequest>(wire::FrameType::kHello, frame.sequence);
    RB_CHECK(wire::SetText(&rebuilt.token, frame.token.c_str()));
    CheckSame(rebuilt, packet);
  }
  void operator()(const OpenFrame& frame) const {
    auto rebuilt = wire::MakeFrame<wire::OpenRequest>(wire::FrameType::kOpen, frame.sequence);
    RB_CHECK(!frame.device.empty() && wire::SetText(&rebuilt.device, frame.device.c_str()));
    CheckSame(rebuilt, packet);
  }
};

void Fuzz(std::span<const std::byte> packet, std::size_t fd_count) {
  const auto request = CheckFrame(packet, fd_count);
  if (request) {
    RB_CHECK(fd_count == 0);
    std::visit(Rebuild{packet}, *request);
    return;
  }
  const Error& error = request.error();
  RB_CHECK(error.code == ErrorCode::kInvalid && !error.message.empty());
  RB_CHECK(error.reason == "bad_frame" || error.reason == "wrong_version");
}

}  // namespace
}  // namespace rb::agent

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto fd_count = static_cast<std::size_t>(static_cast<std::uint8_t>(data[0] - '0'));
  rb::agent::Fuzz(std::as_bytes(std::span(data + 1, size - 1)), fd_count);
  return 0;
}
