#include "tests/docs/wire_tables.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <initializer_list>
#include <span>

#include "api/wire/frames.h"
#include "api/wire/pages.h"
#include "api/wire/text.h"

namespace rb {
namespace {

struct Field {
  const char* name;
  std::size_t offset;
  std::size_t bytes;
};

// The preprocessor is the only one that knows a field's name.
#define RB_FIELD(type, field) \
  Field { #field, offsetof(type, field), sizeof(type::field) }

std::string Layout(const char* title, std::size_t bytes, std::initializer_list<Field> fields) {
  std::string text = "| **" + std::string(title) + "** | | " + std::to_string(bytes) + " |\n";
  for (const Field& field : fields) {
    text += "| `" + std::string(field.name) + "` | " + std::to_string(field.offset) + " | " +
            std::to_string(field.bytes) + " |\n";
  }
  return text;
}

constexpr const char* kHead = "| field | offset | bytes |\n|---|---|---|\n";

std::string HexDump(std::span<const unsigned char> bytes) {
  constexpr std::size_t kPerLine = 16;
  std::string text;
  std::string last;
  for (std::size_t at = 0; at < bytes.size(); at += kPerLine) {
    std::string line;
    for (const unsigned char byte : bytes.subspan(at, std::min(kPerLine, bytes.size() - at))) {
      std::array<char, 4> hex{};
      std::snprintf(hex.data(), hex.size(), " %02x", byte);
      line += hex.data();
    }
    std::array<char, 8> offset{};
    std::snprintf(offset.data(), offset.size(), "%04zx ", at);
    if (line != last) {
      text += offset.data() + line + "\n";
    } else if (!text.ends_with("*\n")) {
      text += "*\n";  // as hexdump(1): the line above again
    }
    last = line;
  }
  return text;
}

template <typename Frame>
std::string HexDump(const Frame& frame) {
  return HexDump({reinterpret_cast<const unsigned char*>(&frame), sizeof(frame)});
}

}  // namespace

std::string WireFrames() {
  std::string text = kHead;
  text += Layout("header of every frame", sizeof(wire::FrameHeader),
                 {RB_FIELD(wire::FrameHeader, magic), RB_FIELD(wire::FrameHeader, version),
                  RB_FIELD(wire::FrameHeader, type), RB_FIELD(wire::FrameHeader, length),
                  RB_FIELD(wire::FrameHeader, sequence)});
  text += Layout("1 ENTER", sizeof(wire::EnterRequest),
                 {RB_FIELD(wire::EnterRequest, token), RB_FIELD(wire::EnterRequest, reserved)});
  text += Layout("2 ENTERED", sizeof(wire::EnterReply), {RB_FIELD(wire::EnterReply, lease_id)});
  text += Layout("3 HELLO", sizeof(wire::HelloRequest),
                 {RB_FIELD(wire::HelloRequest, token), RB_FIELD(wire::HelloRequest, reserved)});
  text += Layout("4 GRANT", sizeof(wire::GrantReply),
                 {RB_FIELD(wire::GrantReply, lease_id), RB_FIELD(wire::GrantReply, tenant),
                  RB_FIELD(wire::GrantReply, device_count), RB_FIELD(wire::GrantReply, reserved),
                  RB_FIELD(wire::GrantReply, devices)});
  text +=
      Layout("one of its devices", sizeof(wire::GrantedDevice),
             {RB_FIELD(wire::GrantedDevice, name), RB_FIELD(wire::GrantedDevice, node),
              RB_FIELD(wire::GrantedDevice, major), RB_FIELD(wire::GrantedDevice, minor),
              RB_FIELD(wire::GrantedDevice, driver_id), RB_FIELD(wire::GrantedDevice, reserved)});
  text += Layout("5 OPEN", sizeof(wire::OpenRequest),
                 {RB_FIELD(wire::OpenRequest, device), RB_FIELD(wire::OpenRequest, reserved)});
  text += Layout("6 OPENED", sizeof(wire::OpenReply),
                 {RB_FIELD(wire::OpenReply, slot), RB_FIELD(wire::OpenReply, device_index),
                  RB_FIELD(wire::OpenReply, driver_id), RB_FIELD(wire::OpenReply, reserved)});
  text += Layout("7 ERROR", sizeof(wire::ErrorReply),
                 {RB_FIELD(wire::ErrorReply, errno_value), RB_FIELD(wire::ErrorReply, reserved),
                  RB_FIELD(wire::ErrorReply, reason), RB_FIELD(wire::ErrorReply, message)});
  return text;
}

std::string WirePages() {
  std::string text = kHead;
  text += Layout("policy page", sizeof(wire::PolicyPage),
                 {RB_FIELD(wire::PolicyPage, magic), RB_FIELD(wire::PolicyPage, version),
                  RB_FIELD(wire::PolicyPage, generation), RB_FIELD(wire::PolicyPage, state),
                  RB_FIELD(wire::PolicyPage, flags), RB_FIELD(wire::PolicyPage, traffic_class),
                  RB_FIELD(wire::PolicyPage, sl), RB_FIELD(wire::PolicyPage, limits),
                  RB_FIELD(wire::PolicyPage, devices)});
  text += Layout("counters page", sizeof(wire::CountersPage),
                 {RB_FIELD(wire::CountersPage, magic), RB_FIELD(wire::CountersPage, version),
                  RB_FIELD(wire::CountersPage, slot_count), RB_FIELD(wire::CountersPage, used),
                  RB_FIELD(wire::CountersPage, last_refusal), RB_FIELD(wire::CountersPage, buckets),
                  RB_FIELD(wire::CountersPage, retired), RB_FIELD(wire::CountersPage, slots)});
  text += Layout(
      "one of its slots", sizeof(wire::CounterSlot),
      {RB_FIELD(wire::CounterSlot, state), RB_FIELD(wire::CounterSlot, device_index),
       RB_FIELD(wire::CounterSlot, opener_pid), RB_FIELD(wire::CounterSlot, holders),
       RB_FIELD(wire::CounterSlot, used), RB_FIELD(wire::CounterSlot, denials),
       RB_FIELD(wire::CounterSlot, ops), RB_FIELD(wire::CounterSlot, throttled_ns),
       RB_FIELD(wire::CounterSlot, throttled_posts), RB_FIELD(wire::CounterSlot, class_rewrites)});
  return text;
}

std::string WireExample() {
  auto request = wire::MakeFrame<wire::OpenRequest>(wire::FrameType::kOpen, 2);
  wire::SetText(&request.device, "rxe0");
  auto reply = wire::MakeFrame<wire::OpenReply>(wire::FrameType::kOpened, 2);
  reply.slot = 3;
  reply.driver_id = 14;  // RDMA_DRIVER_RXE
  return "```\nOPEN \"rxe0\", sequence 2\n" + HexDump(request) +
         "\nOPENED: slot 3, device 0, driver 14, and one descriptor\n" + HexDump(reply) + "```\n";
}

}  // namespace rb
