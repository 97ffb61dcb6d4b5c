#include "tests/docs/wire_tables.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <span>

#include "api/wire/frames.h"
#include "api/wire/limit_table.h"
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
    std::array<char, 24> offset{};
    std::snprintf(offset.data(), offset.size(), "%04zx ", at);
    if (line != last) {
      text += offset.data() + line + "\n";
    } else if (!text.ends_with("*\n")) {
      text += "*\n";  // as hexdump(1): the line above again
    }
    last = line;
  }
  if (text.ends_with("*\n")) {
    std::array<char, 24> end{};
    std::snprintf(end.data(), end.size(), "%04zx\n", bytes.size());
    text += end.data();
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
                  RB_FIELD(wire::CountersPage, slot_count), RB_FIELD(wire::CountersPage, reserved),
                  RB_FIELD(wire::CountersPage, used), RB_FIELD(wire::CountersPage, last_refusal),
                  RB_FIELD(wire::CountersPage, buckets), RB_FIELD(wire::CountersPage, retired),
                  RB_FIELD(wire::CountersPage, slots)});
  text += Layout(
      "one of its slots", sizeof(wire::CounterSlot),
      {RB_FIELD(wire::CounterSlot, state), RB_FIELD(wire::CounterSlot, device_index),
       RB_FIELD(wire::CounterSlot, opener_pid), RB_FIELD(wire::CounterSlot, holders),
       RB_FIELD(wire::CounterSlot, used), RB_FIELD(wire::CounterSlot, denials),
       RB_FIELD(wire::CounterSlot, ops), RB_FIELD(wire::CounterSlot, throttled_ns),
       RB_FIELD(wire::CounterSlot, throttled_posts), RB_FIELD(wire::CounterSlot, class_rewrites)});
  text += Layout("one of a slot's ops", sizeof(wire::OpCount),
                 {RB_FIELD(wire::OpCount, messages), RB_FIELD(wire::OpCount, bytes)});
  text += Layout("one of `last_refusal`", sizeof(wire::Refusal),
                 {RB_FIELD(wire::Refusal, used), RB_FIELD(wire::Refusal, asked),
                  RB_FIELD(wire::Refusal, pid)});
  text += Layout(
      "one of `buckets`", sizeof(wire::PaceBucket),
      {RB_FIELD(wire::PaceBucket, arrival_ns), RB_FIELD(wire::PaceBucket, rate_bytes_per_second)});
  return text;
}

std::string WireValues() {
  std::string text = "| field | value | means |\n|---|---|---|\n";
  const auto row = [&text](const char* field, std::uint64_t value, const std::string& means) {
    std::array<char, 24> hex{};
    std::snprintf(hex.data(), hex.size(), "0x%llx", static_cast<unsigned long long>(value));
    const std::string number = value < 10 ? std::to_string(value) : hex.data();
    text += "| " + std::string(field) + " | " + number + " | " + means + " |\n";
  };
  row("frame `magic`", wire::kFrameMagic, "\"RBW1\"");
  row("frame `version`", wire::kWireVersion, "the only one");
  row("policy `magic`", wire::kPolicyMagic, "\"RBP1\"");
  row("counters `magic`", wire::kCountersMagic, "\"RBC1\"");
  row("`version` of both pages", wire::kPageVersion, "the only one");
  row("policy `state`", static_cast<std::uint64_t>(wire::PolicyState::kActive), "active");
  row("", static_cast<std::uint64_t>(wire::PolicyState::kDraining),
      "draining: what exists works, new objects are refused");
  row("", static_cast<std::uint64_t>(wire::PolicyState::kRevoked),
      "revoked: every new call is refused");
  row("policy `flags`", wire::kPolicyAccounting, "count bytes and messages");
  row("", wire::kPolicyHasClass, "`traffic_class` and `sl` are set");
  row("", wire::kPolicyRefuseClass, "another class is refused, not rewritten");
  row("", wire::kPolicyDenyUnknown, "unknown objects and methods are refused");
  row("", wire::kPolicyDenyRaw, "RAW_PACKET queue pairs and flow rules are refused");
  row("", wire::kPolicyDenyDevx, "DEVX objects are refused");
  row("", wire::kPolicyPaced, "some device has a rate");
  row("slot `state`", static_cast<std::uint64_t>(wire::SlotState::kFree), "free");
  row("", static_cast<std::uint64_t>(wire::SlotState::kOpen), "set by the agent before OPENED");
  row("", static_cast<std::uint64_t>(wire::SlotState::kClosed), "set by the last process to close");
  for (std::size_t i = 0; i < wire::kOpCount; ++i) {
    row(i == 0 ? "index into `ops`" : "", i, wire::kOpNames[i]);
  }
  return text;
}

std::string WireExample() {
  auto hello = wire::MakeFrame<wire::HelloRequest>(wire::FrameType::kHello, 1);
  auto grant = wire::MakeFrame<wire::GrantReply>(wire::FrameType::kGrant, 1);
  wire::SetText(&grant.lease_id, "lease-0123456789abcdef");
  wire::SetText(&grant.tenant, "alice");
  grant.device_count = 1;
  wire::GrantedDevice& device = grant.devices[0];
  wire::SetText(&device.name, "rxe0");
  wire::SetText(&device.node, "uverbs0");
  device.major = 231;
  device.minor = 192;
  device.driver_id = 14;  // RDMA_DRIVER_RXE
  auto open = wire::MakeFrame<wire::OpenRequest>(wire::FrameType::kOpen, 2);
  wire::SetText(&open.device, "rxe0");
  auto opened = wire::MakeFrame<wire::OpenReply>(wire::FrameType::kOpened, 2);
  opened.slot = 3;
  opened.driver_id = 14;
  auto refused = wire::MakeFrame<wire::ErrorReply>(wire::FrameType::kError, 3);
  refused.errno_value = ENOMEM;
  wire::SetText(&refused.reason, "limit_contexts");
  wire::SetText(&refused.message, "limit contexts: used 4, asked 1 more, allowed 4");
  return "```\nHELLO without a token, sequence 1\n" + HexDump(hello) +
         "\nGRANT: lease-0123456789abcdef of alice, rxe0 at uverbs0 (231:192), driver 14, and two "
         "descriptors\n" +
         HexDump(grant) + "\nOPEN \"rxe0\", sequence 2\n" + HexDump(open) +
         "\nOPENED: slot 3, device 0, driver 14, and one descriptor\n" + HexDump(opened) +
         "\nERROR instead, to a fifth OPEN: ENOMEM, limit_contexts\n" + HexDump(refused) + "```\n";
}

std::string PolicyExample() {
  wire::PolicyPage page{};
  page.magic = wire::kPolicyMagic;
  page.version = wire::kPageVersion;
  page.generation = 4;
  page.state = static_cast<std::uint32_t>(wire::PolicyState::kActive);
  page.flags = wire::kPolicyAccounting | wire::kPolicyHasClass | wire::kPolicyPaced;
  page.traffic_class = 26 << 2;
  page.sl = 3;
  for (const wire::LimitRow& row : wire::kLimitTable) {
    page.limits[wire::Index(row.limit)] = row.default_value;
  }
  page.devices[0] = {.rate_bytes_per_second = 20 << 20, .burst_bytes = 1 << 20};
  return "```\n" + HexDump(page) + "```\n";
}

}  // namespace rb
