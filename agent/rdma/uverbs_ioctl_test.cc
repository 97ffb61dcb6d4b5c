#include "agent/rdma/uverbs_ioctl.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

namespace rb::agent::rdma {
namespace {

constexpr std::uint32_t kRxe = 14;

template <typename T>
T Load(std::span<const std::byte> bytes, std::size_t at) {
  T value{};
  std::memcpy(&value, bytes.data() + at, sizeof(value));
  return value;
}

struct Header {
  std::uint16_t length, object, method, attributes;
  std::uint64_t reserved1;
  std::uint32_t driver, reserved2;
  bool operator==(const Header&) const = default;
};
static_assert(sizeof(Header) == 24);

struct Attribute {
  std::uint16_t id, length, flags, reserved;
  std::uint64_t data;
  bool operator==(const Attribute&) const = default;
};
static_assert(sizeof(Attribute) == 16);

Attribute AttributeAt(std::span<const std::byte> bytes, std::size_t index) {
  return Load<Attribute>(bytes, sizeof(Header) + index * sizeof(Attribute));
}

std::uint64_t Address(const void* data) { return reinterpret_cast<std::uintptr_t>(data); }

TEST(UverbsCommandTest, CountsItsAttributesInTheHeader) {
  UverbsCommand command(kRxe, 4, 1);
  command.AddValue(0, 0, 0x11223344);

  const auto bytes = command.bytes();

  const std::vector<std::uint8_t> want{
      40, 0, 4, 0, 1, 0, 1, 0, 0,    0,    0,    0,    0, 0, 0, 0,
      14, 0, 0, 0, 0, 0, 0, 0,                                      // header
      0,  0, 0, 0, 1, 0, 0, 0, 0x44, 0x33, 0x22, 0x11, 0, 0, 0, 0,  // attribute
  };
  ASSERT_EQ(bytes.size(), want.size());
  EXPECT_EQ(std::memcmp(bytes.data(), want.data(), want.size()), 0);
}

TEST(EncodeListHandlesTest, PassesTheTotalInFourBytes) {
  std::vector<std::uint32_t> handles(64);
  std::uint32_t total = 0;

  auto command = EncodeListHandles(kRxe, 7, handles, total);
  const auto bytes = command.bytes();

  EXPECT_EQ(Load<Header>(bytes, 0), (Header{72, 0, 1, 3, 0, kRxe, 0}));
  EXPECT_EQ(AttributeAt(bytes, 0), (Attribute{0, 8, 1, 0, 7}));
  EXPECT_EQ(AttributeAt(bytes, 1), (Attribute{1, 4, 1, 0, Address(&total)}));
  EXPECT_EQ(AttributeAt(bytes, 2), (Attribute{2, 256, 1, 0, Address(handles.data())}));
}

TEST(EncodeListHandlesTest, TheLargestListFitsAnAttribute) {
  std::vector<std::uint32_t> handles(kHandlesListMax);
  std::uint32_t total = 0;

  auto command = EncodeListHandles(kRxe, 4, handles, total);

  EXPECT_EQ(AttributeAt(command.bytes(), 2).length, 0xfffc);
}

TEST(EncodeDestroyTest, NamesHandleAndResponseOfEveryCoreKind) {
  struct Row {
    ObjectKind kind;
    std::uint16_t object, method, response_bytes;
  };
  // The kernel's UVERBS_OBJECT_* and UVERBS_METHOD_*_DESTROY numbers, written out on purpose.
  const std::vector<Row> rows{
      {kFlow, 9, 0, 0},        {kQp, 4, 1, 4},    {kRwqIndirectionTable, 11, 0, 0},
      {kWq, 12, 1, 4},         {kSrq, 5, 1, 4},   {kCq, 3, 1, 8},
      {kMw, 8, 0, 0},          {kMr, 7, 1, 0},    {kDm, 14, 1, 0},
      {kAh, 6, 0, 0},          {kXrcd, 10, 0, 0}, {kCounters, 15, 1, 0},
      {kFlowAction, 13, 1, 0}, {kPd, 1, 0, 0}};
  for (const Row& row : rows) {
    SCOPED_TRACE(row.kind.name);
    std::uint64_t response = 0;

    auto command = EncodeDestroy(kRxe, row.kind, 5, response);
    const auto bytes = command.bytes();

    const std::uint16_t attributes = row.response_bytes == 0 ? 1 : 2;
    const auto length = static_cast<std::uint16_t>(24 + 16 * attributes);
    EXPECT_EQ(Load<Header>(bytes, 0),
              (Header{length, row.object, row.method, attributes, 0, kRxe, 0}));
    EXPECT_EQ(AttributeAt(bytes, 0), (Attribute{0, 0, 1, 0, 5}));
    if (row.response_bytes != 0) {
      EXPECT_EQ(AttributeAt(bytes, 1),
                (Attribute{1, row.response_bytes, 1, 0, Address(&response)}));
    }
  }
}

TEST(EncodeDestroyTest, ADriversHandleAttributeIsNumberedByTheDriver) {
  constexpr ObjectKind kDevxObject{"devx_obj", 0x1001, 0x1001, 0};
  std::uint64_t response = 0;

  auto command = EncodeDestroy(1, kDevxObject, 9, response);

  EXPECT_EQ(Load<Header>(command.bytes(), 0), (Header{40, 0x1001, 0x1001, 1, 0, 1, 0}));
  EXPECT_EQ(AttributeAt(command.bytes(), 0), (Attribute{0x1000, 0, 1, 0, 9}));
}

TEST(EncodeSetQpErrorTest, ChangesTheStateAndNothingElse) {
  std::array<std::byte, kModifyQpRequestBytes> request{};

  auto command = EncodeSetQpError(kRxe, 0x0a0b0c0d, request);
  const auto bytes = command.bytes();

  EXPECT_EQ(Load<Header>(bytes, 0), (Header{56, 0, 0, 2, 0, kRxe, 0}));
  EXPECT_EQ(AttributeAt(bytes, 0), (Attribute{2, 8, 1, 0, 26}));
  EXPECT_EQ(AttributeAt(bytes, 1), (Attribute{0, 112, 1, 0, Address(request.data())}));
  std::array<std::byte, kModifyQpRequestBytes> want{};
  const std::uint32_t handle = 0x0a0b0c0d;
  const std::uint32_t state_only = 1;
  std::memcpy(&want[64], &handle, sizeof(handle));
  std::memcpy(&want[68], &state_only, sizeof(state_only));
  want[96] = std::byte{6};
  EXPECT_EQ(request, want);
}

TEST(EncodeQueryQpTest, AsksForStatePathAndDestination) {
  std::array<std::byte, kQueryQpRequestBytes> request{};
  std::array<std::byte, kQueryQpResponseBytes> response{};

  auto command = EncodeQueryQp(kRxe, 3, request, response);
  const auto bytes = command.bytes();

  EXPECT_EQ(Load<Header>(bytes, 0), (Header{72, 0, 0, 3, 0, kRxe, 0}));
  EXPECT_EQ(AttributeAt(bytes, 0), (Attribute{2, 8, 1, 0, 25}));
  EXPECT_EQ(AttributeAt(bytes, 1), (Attribute{0, 16, 1, 0, Address(request.data())}));
  EXPECT_EQ(AttributeAt(bytes, 2), (Attribute{1, 128, 1, 0, Address(response.data())}));
  EXPECT_EQ(Load<std::uint32_t>(request, 8), 3U);
  EXPECT_EQ(Load<std::uint32_t>(request, 12), 0x1000b1U);
}

TEST(DecodeQueryQpTest, ReadsEveryFieldFromItsOffset) {
  std::array<std::byte, kQueryQpResponseBytes> response{};
  const auto put = [&response](std::size_t at, auto value) {
    std::memcpy(&response.at(at), &value, sizeof(value));
  };
  put(15, std::uint8_t{0x0a});      // last byte of the destination GID
  put(16, std::uint32_t{0x12345});  // flow label
  put(24, std::uint8_t{3});         // sgid index
  put(26, std::uint8_t{104});       // traffic class
  put(27, std::uint8_t{5});         // service level
  put(29, std::uint8_t{7});         // static rate
  put(96, std::uint32_t{0x11});     // destination queue pair
  put(104, std::uint16_t{1});       // P_Key index
  put(108, std::uint8_t{3});        // state: RTS
  put(116, std::uint8_t{2});        // port

  const QpInfo info = DecodeQueryQp(response);

  QpInfo want;
  want.state = QpState::kRts;
  want.dest_qpn = 0x11;
  want.pkey_index = 1;
  want.port = 2;
  want.has_path = true;
  want.traffic_class = 104;
  want.service_level = 5;
  want.static_rate = 7;
  want.sgid_index = 3;
  want.flow_label = 0x12345;
  want.dgid[15] = 0x0a;
  EXPECT_EQ(info, want);
}

TEST(DecodeQueryQpTest, WithoutADestinationThereIsNoPath) {
  std::array<std::byte, kQueryQpResponseBytes> response{};
  response[108] = std::byte{9};  // not a state

  const QpInfo info = DecodeQueryQp(response);

  EXPECT_FALSE(info.has_path);
  EXPECT_EQ(info.state, QpState::kUnknown);
}

TEST(DestroyOrderTest, TheProtectionDomainIsLastAndDriversObjectsJustBeforeIt) {
  const std::vector<ObjectKind> plain = DestroyOrder(kRxe);
  const std::vector<ObjectKind> mlx5 = DestroyOrder(1);

  EXPECT_EQ(plain.back(), kPd);
  EXPECT_EQ(plain.size(), kDestroyOrder.size());
  EXPECT_EQ(mlx5.back(), kPd);
  EXPECT_EQ(mlx5.size(), plain.size() + DriverObjects(1).size());
  EXPECT_EQ(mlx5.at(plain.size() - 1).name, "devx_obj");
}

TEST(DestroyOrderTest, UsersComeBeforeWhatTheyUse) {
  const auto place = [](const ObjectKind& kind) {
    return std::ranges::find(kDestroyOrder, kind) - kDestroyOrder.begin();
  };

  EXPECT_LT(place(kFlow), place(kQp));
  EXPECT_LT(place(kQp), place(kRwqIndirectionTable));
  EXPECT_LT(place(kRwqIndirectionTable), place(kWq));
  EXPECT_LT(place(kWq), place(kCq));
  EXPECT_LT(place(kSrq), place(kCq));
  EXPECT_LT(place(kSrq), place(kXrcd));
  EXPECT_LT(place(kMr), place(kDm));
  EXPECT_LT(place(kAh), place(kPd));
}

}  // namespace
}  // namespace rb::agent::rdma
