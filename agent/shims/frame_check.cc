#include "agent/shims/frame_check.h"

#include <cstring>

#include "api/wire/frames.h"
#include "api/wire/text.h"

namespace rb::agent {
namespace {

tl::unexpected<Error> Bad(std::string why) {
  return Fail(ErrorCode::kInvalid, "frame: " + std::move(why), "bad_frame");
}

template <typename T>
Result<T> ReadAs(std::span<const std::byte> packet) {
  if (packet.size() != sizeof(T)) {
    return Bad(std::to_string(packet.size()) + " bytes, this type has " +
               std::to_string(sizeof(T)));
  }
  T frame;
  std::memcpy(&frame, packet.data(), sizeof(T));
  if (frame.reserved != 0) return Bad("reserved field is not 0");
  return frame;
}

template <std::size_t N>
Result<std::string> ReadText(const wire::Text<N>& text, const char* what) {
  if (!wire::IsText(text)) return Bad(std::string(what) + " is not a NUL-padded text");
  return std::string(text.data());
}

Result<RequestFrame> CheckEnter(std::span<const std::byte> packet) {
  RB_TRY(const wire::EnterRequest frame, ReadAs<wire::EnterRequest>(packet));
  RB_TRY(std::string token, ReadText(frame.token, "token"));
  if (token.empty()) return Bad("ENTER without a token");
  return EnterFrame{.sequence = frame.header.sequence, .token = std::move(token)};
}

Result<RequestFrame> CheckHello(std::span<const std::byte> packet) {
  RB_TRY(const wire::HelloRequest frame, ReadAs<wire::HelloRequest>(packet));
  RB_TRY(std::string token, ReadText(frame.token, "token"));
  return HelloFrame{.sequence = frame.header.sequence, .token = std::move(token)};
}

Result<RequestFrame> CheckOpen(std::span<const std::byte> packet) {
  RB_TRY(const wire::OpenRequest frame, ReadAs<wire::OpenRequest>(packet));
  RB_TRY(std::string device, ReadText(frame.device, "device"));
  if (device.empty()) return Bad("OPEN without a device");
  return OpenFrame{.sequence = frame.header.sequence, .device = std::move(device)};
}

}  // namespace

Result<RequestFrame> CheckFrame(std::span<const std::byte> packet, std::size_t fd_count) {
  wire::FrameHeader header{};
  if (packet.size() < sizeof(header)) return Bad("shorter than a header");
  std::memcpy(&header, packet.data(), sizeof(header));
  if (header.magic != wire::kFrameMagic) return Bad("wrong magic");
  if (header.version != wire::kWireVersion) {
    return Fail(ErrorCode::kInvalid,
                "frame: version " + std::to_string(header.version) + ", this agent speaks " +
                    std::to_string(wire::kWireVersion),
                "wrong_version");
  }
  if (header.length != packet.size()) return Bad("length field disagrees with the packet");
  if (fd_count != 0) return Bad("descriptors where none belong");
  switch (static_cast<wire::FrameType>(header.type)) {
    case wire::FrameType::kEnter:
      return CheckEnter(packet);
    case wire::FrameType::kHello:
      return CheckHello(packet);
    case wire::FrameType::kOpen:
      return CheckOpen(packet);
    default:
      return Bad("type " + std::to_string(header.type) + " is not a request");
  }
}

}  // namespace rb::agent
