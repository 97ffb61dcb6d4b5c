#include "agent/shims/frame_check.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "api/wire/frames.h"
#include "api/wire/text.h"

namespace rb::agent {
namespace {

using Bytes = std::vector<std::byte>;

template <typename Frame>
Bytes BytesOf(const Frame& frame) {
  Bytes bytes(sizeof(frame));
  std::memcpy(bytes.data(), &frame, sizeof(frame));
  return bytes;
}

wire::EnterRequest Enter() {
  auto frame = wire::MakeFrame<wire::EnterRequest>(wire::FrameType::kEnter, 7);
  wire::SetText(&frame.token, "rbl_1");
  return frame;
}

wire::HelloRequest Hello() {
  auto frame = wire::MakeFrame<wire::HelloRequest>(wire::FrameType::kHello, 8);
  wire::SetText(&frame.token, "rbl_2");
  return frame;
}

wire::OpenRequest Open() {
  auto frame = wire::MakeFrame<wire::OpenRequest>(wire::FrameType::kOpen, 9);
  wire::SetText(&frame.device, "rxe0");
  return frame;
}

// "bad_frame: frame: wrong magic", or "accepted".
std::string Refusal(const Bytes& packet, std::size_t fd_count = 0) {
  const auto checked = CheckFrame(packet, fd_count);
  return checked ? "accepted" : checked.error().reason + ": " + checked.error().message;
}

std::string Refusal(const auto& frame) { return Refusal(BytesOf(frame)); }

// The packet in another size, with a header that agrees.
template <typename Frame>
Bytes Resized(Frame frame, std::size_t bytes) {
  frame.header.length = static_cast<std::uint32_t>(bytes);
  Bytes packet = BytesOf(frame);
  packet.resize(bytes);
  return packet;
}

TEST(CheckFrameTest, ReadsEveryRequest) {
  EXPECT_EQ(CheckFrame(BytesOf(Enter()), 0),
            RequestFrame(EnterFrame{.sequence = 7, .token = "rbl_1"}));
  EXPECT_EQ(CheckFrame(BytesOf(Hello()), 0),
            RequestFrame(HelloFrame{.sequence = 8, .token = "rbl_2"}));
  EXPECT_EQ(CheckFrame(BytesOf(Open()), 0),
            RequestFrame(OpenFrame{.sequence = 9, .device = "rxe0"}));
}

TEST(CheckFrameTest, HelloMayComeWithoutAToken) {
  const auto frame = wire::MakeFrame<wire::HelloRequest>(wire::FrameType::kHello, 1);

  EXPECT_EQ(CheckFrame(BytesOf(frame), 0), RequestFrame(HelloFrame{.sequence = 1, .token = ""}));
}

TEST(CheckFrameTest, EnterAndOpenMustNameSomething) {
  const auto enter = wire::MakeFrame<wire::EnterRequest>(wire::FrameType::kEnter, 1);
  const auto open = wire::MakeFrame<wire::OpenRequest>(wire::FrameType::kOpen, 1);

  EXPECT_EQ(Refusal(enter), "bad_frame: frame: ENTER without a token");
  EXPECT_EQ(Refusal(open), "bad_frame: frame: OPEN without a device");
}

TEST(CheckFrameTest, EveryPacketShorterThanAHeaderIsRefused) {
  const Bytes whole = BytesOf(Hello());
  for (std::size_t length = 0; length < sizeof(wire::FrameHeader); ++length) {
    const Bytes packet(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));

    EXPECT_EQ(Refusal(packet), "bad_frame: frame: shorter than a header") << length;
  }
}

TEST(CheckFrameTest, ALoneHeaderIsNoRequest) {
  EXPECT_EQ(Refusal(Resized(Hello(), sizeof(wire::FrameHeader))),
            "bad_frame: frame: 16 bytes, this type has 120");
}

TEST(CheckFrameTest, EveryTypeHasOneSize) {
  EXPECT_EQ(Refusal(Resized(Enter(), sizeof(wire::EnterRequest) - 1)),
            "bad_frame: frame: 119 bytes, this type has 120");
  EXPECT_EQ(Refusal(Resized(Enter(), sizeof(wire::EnterRequest) + 1)),
            "bad_frame: frame: 121 bytes, this type has 120");
  EXPECT_EQ(Refusal(Resized(Hello(), sizeof(wire::HelloRequest) - 1)),
            "bad_frame: frame: 119 bytes, this type has 120");
  EXPECT_EQ(Refusal(Resized(Hello(), sizeof(wire::HelloRequest) + 1)),
            "bad_frame: frame: 121 bytes, this type has 120");
  EXPECT_EQ(Refusal(Resized(Open(), sizeof(wire::OpenRequest) - 1)),
            "bad_frame: frame: 87 bytes, this type has 88");
  EXPECT_EQ(Refusal(Resized(Open(), sizeof(wire::OpenRequest) + 1)),
            "bad_frame: frame: 89 bytes, this type has 88");
}

TEST(CheckFrameTest, TheLargestPacketIsRefusedBySize) {
  EXPECT_EQ(Refusal(Resized(Hello(), wire::kFrameBytesMax)),
            "bad_frame: frame: 4096 bytes, this type has 120");
}

TEST(CheckFrameTest, TheLengthFieldMustBeThePacketsSize) {
  auto longer = Hello();
  longer.header.length += 1;
  auto shorter = Hello();
  shorter.header.length -= 1;
  auto nothing = Hello();
  nothing.header.length = 0;

  for (const auto& frame : {longer, shorter, nothing}) {
    EXPECT_EQ(Refusal(frame), "bad_frame: frame: length field disagrees with the packet");
  }
}

TEST(CheckFrameTest, AnotherMagicIsRefused) {
  auto frame = Hello();
  frame.header.magic ^= 1;

  EXPECT_EQ(Refusal(frame), "bad_frame: frame: wrong magic");
}

TEST(CheckFrameTest, AnotherVersionIsToldFromADamagedFrame) {
  auto older = Hello();
  older.header.version = wire::kWireVersion - 1;
  auto newer = Hello();
  newer.header.version = wire::kWireVersion + 1;

  EXPECT_EQ(Refusal(older), "wrong_version: frame: version 0, this agent speaks 1");
  EXPECT_EQ(Refusal(newer), "wrong_version: frame: version 2, this agent speaks 1");
}

TEST(CheckFrameTest, AnswersAndUnknownTypesAreNoRequests) {
  for (const int type : {0, 2, 4, 6, 7, 8, 255, 65535}) {
    auto frame = Hello();
    frame.header.type = static_cast<std::uint16_t>(type);

    EXPECT_EQ(Refusal(frame),
              "bad_frame: frame: type " + std::to_string(type) + " is not a request");
  }
}

TEST(CheckFrameTest, TheSizeBelongsToTheTypeNotToThePacket) {
  // ENTER and HELLO look alike but for the type; OPEN does not.
  auto frame = Hello();
  frame.header.type = static_cast<std::uint16_t>(wire::FrameType::kOpen);

  EXPECT_EQ(Refusal(frame), "bad_frame: frame: 120 bytes, this type has 88");
}

TEST(CheckFrameTest, ReservedFieldsAreZero) {
  auto enter = Enter();
  enter.reserved = 1;
  auto hello = Hello();
  hello.reserved = std::uint64_t{1} << 63;
  auto open = Open();
  open.reserved = 1;

  EXPECT_EQ(Refusal(enter), "bad_frame: frame: reserved field is not 0");
  EXPECT_EQ(Refusal(hello), "bad_frame: frame: reserved field is not 0");
  EXPECT_EQ(Refusal(open), "bad_frame: frame: reserved field is not 0");
}

TEST(CheckFrameTest, ATextThatFillsItsFieldHasNoEnd) {
  auto enter = Enter();
  enter.token.fill('a');
  auto hello = Hello();
  hello.token.fill('a');
  auto open = Open();
  open.device.fill('a');

  EXPECT_EQ(Refusal(enter), "bad_frame: frame: token is not a NUL-padded text");
  EXPECT_EQ(Refusal(hello), "bad_frame: frame: token is not a NUL-padded text");
  EXPECT_EQ(Refusal(open), "bad_frame: frame: device is not a NUL-padded text");
}

TEST(CheckFrameTest, TheLongestTextIsOneByteShorterThanItsField) {
  auto hello = Hello();
  hello.token.fill('a');
  hello.token.back() = '\0';
  auto open = Open();
  open.device.fill('b');
  open.device.back() = '\0';

  EXPECT_EQ(CheckFrame(BytesOf(hello), 0),
            RequestFrame(HelloFrame{.sequence = 8, .token = std::string(95, 'a')}));
  EXPECT_EQ(CheckFrame(BytesOf(open), 0),
            RequestFrame(OpenFrame{.sequence = 9, .device = std::string(63, 'b')}));
}

TEST(CheckFrameTest, NothingMayHideBehindTheEndOfAText) {
  auto enter = Enter();
  enter.token.back() = 'x';
  auto hello = wire::MakeFrame<wire::HelloRequest>(wire::FrameType::kHello, 1);
  hello.token[1] = 'x';  // empty, and yet not
  auto open = Open();
  open.device[6] = 'x';

  EXPECT_EQ(Refusal(enter), "bad_frame: frame: token is not a NUL-padded text");
  EXPECT_EQ(Refusal(hello), "bad_frame: frame: token is not a NUL-padded text");
  EXPECT_EQ(Refusal(open), "bad_frame: frame: device is not a NUL-padded text");
}

TEST(CheckFrameTest, NoRequestBringsDescriptors) {
  EXPECT_EQ(Refusal(BytesOf(Enter()), 1), "bad_frame: frame: descriptors where none belong");
  EXPECT_EQ(Refusal(BytesOf(Hello()), 4), "bad_frame: frame: descriptors where none belong");
  EXPECT_EQ(Refusal(BytesOf(Open()), 1), "bad_frame: frame: descriptors where none belong");
}

TEST(CheckFrameTest, TextIsTakenAsItIs) {
  // Whether a name exists is not a question of framing: no byte value is special here but NUL.
  auto open = Open();
  wire::SetText(&open.device, "../\xff\n");

  EXPECT_EQ(CheckFrame(BytesOf(open), 0),
            RequestFrame(OpenFrame{.sequence = 9, .device = "../\xff\n"}));
}

}  // namespace
}  // namespace rb::agent
