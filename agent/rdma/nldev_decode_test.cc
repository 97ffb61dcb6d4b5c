#include "agent/rdma/nldev_decode.h"

#include <gtest/gtest.h>
#include <rdma/rdma_netlink.h>

#include <string>
#include <utility>
#include <vector>

#include "agent/rdma/netlink_attributes.h"
#include "tests/fakes/fake_rdma_nldev.h"

namespace rb::agent::rdma {
namespace {

// A resource table of these rows, each the attribute bytes of one object.
std::string TableMessage(std::uint16_t table, std::uint16_t row,
                         const std::vector<std::string>& rows) {
  std::string entries;
  for (const std::string& bytes : rows) PutNest(entries, row, bytes);
  std::string message;
  PutNumber32(message, RDMA_NLDEV_ATTR_DEV_INDEX, 0);
  PutText(message, RDMA_NLDEV_ATTR_DEV_NAME, "rxe0");
  PutNest(message, table, entries);
  return message;
}

std::string Numbers(std::vector<std::pair<std::uint16_t, std::uint32_t>> attributes) {
  std::string bytes;
  for (const auto& [type, value] : attributes) PutNumber32(bytes, type, value);
  return bytes;
}

TEST(DecodeDevicesTest, ReadsEveryDevice) {
  const DeviceRow mlx5{.index = 3,
                       .name = "mlx5_0",
                       .port_count = 1,
                       .capability_flags = 0x25321c36,
                       .firmware = "22.36.1010",
                       .node_guid = 0x0c42a10300abcdef,
                       .sys_image_guid = 0x0c42a10300abcdee,
                       .node_type = NodeType::kChannelAdapter,
                       .protocol = "roce"};
  const DeviceRow siw{.index = 4,
                      .name = "siw0",
                      .port_count = 1,
                      .capability_flags = 0,
                      .firmware = "",
                      .node_guid = 0x1,
                      .sys_image_guid = 0,
                      .node_type = NodeType::kRnic,
                      .protocol = "iw"};

  const auto rows = DecodeDevices({EncodeDeviceRow(mlx5, 1), EncodeDeviceRow(siw, 4)});

  ASSERT_TRUE(rows);
  EXPECT_EQ(*rows, (std::vector<DeviceRow>{mlx5, siw}));
}

TEST(DecodeDevicesTest, KnowsEveryNodeType) {
  const std::vector<std::pair<std::uint8_t, NodeType>> types{
      {1, NodeType::kChannelAdapter}, {2, NodeType::kSwitch}, {3, NodeType::kRouter},
      {4, NodeType::kRnic},           {5, NodeType::kUsnic},  {6, NodeType::kUsnic},
      {7, NodeType::kUnknown},        {0, NodeType::kUnknown}};
  for (const auto& [kernel, want] : types) {
    DeviceRow row;
    row.name = "x0";

    const auto rows = DecodeDevices({EncodeDeviceRow(row, kernel)});

    ASSERT_TRUE(rows);
    EXPECT_EQ(rows->front().node_type, want);
  }
}

TEST(DecodeDevicesTest, ADeviceWithoutANameIsCorrupt) {
  const auto rows = DecodeDevices({Numbers({{RDMA_NLDEV_ATTR_DEV_INDEX, 1}})});

  ASSERT_FALSE(rows);
  EXPECT_EQ(rows.error().code, ErrorCode::kCorrupt);
}

TEST(DecodePortsTest, ReadsStateAddressAndInterface) {
  const PortRow roce{
      .number = 1, .state = PortState::kActive, .lid = 0, .sm_lid = 0, .netdev = "eth0"};
  const PortRow infiniband{
      .number = 2, .state = PortState::kInit, .lid = 17, .sm_lid = 1, .netdev = ""};

  const auto ports = DecodePorts({EncodePortRow(roce), EncodePortRow(infiniband)});

  ASSERT_TRUE(ports);
  EXPECT_EQ(*ports, (std::vector<PortRow>{roce, infiniband}));
}

TEST(DecodePortsTest, APortWithoutANumberIsCorrupt) {
  EXPECT_EQ(DecodePorts({std::string()}).error().code, ErrorCode::kCorrupt);
}

TEST(DecodeCharDeviceTest, SplitsTheNumberAlsoPastEightBitsOfMinor) {
  const CharDevice device{.name = "uverbs70", .major = 511, .minor = 0x12345, .driver_id = 14};

  const auto decoded = DecodeCharDevice({EncodeCharDevice(device)});

  ASSERT_TRUE(decoded);
  EXPECT_EQ(*decoded, device);
}

TEST(DecodeCharDeviceTest, TheDriverIdMayBeUnstated) {
  const CharDevice device{.name = "uverbs0", .major = 231, .minor = 192, .driver_id = std::nullopt};

  EXPECT_EQ(DecodeCharDevice({EncodeCharDevice(device)}).value(), device);
  EXPECT_EQ(DecodeCharDevice({}).error().code, ErrorCode::kCorrupt);
}

TEST(DecodeNetnsModeTest, SharedUnlessTheKernelSaysExclusive) {
  std::string exclusive;
  PutNumber8(exclusive, RDMA_NLDEV_SYS_ATTR_NETNS_MODE, 0);
  std::string shared;
  PutNumber8(shared, RDMA_NLDEV_SYS_ATTR_NETNS_MODE, 1);

  EXPECT_EQ(DecodeNetnsMode({exclusive}).value(), NetnsMode::kExclusive);
  EXPECT_EQ(DecodeNetnsMode({shared}).value(), NetnsMode::kShared);
  EXPECT_EQ(DecodeNetnsMode({std::string()}).value(), NetnsMode::kShared);
}

TEST(DecodeContextsTest, ADeadCreatorHasNoPid) {
  const NldevAnswer answer{
      TableMessage(RDMA_NLDEV_ATTR_RES_CTX, RDMA_NLDEV_ATTR_RES_CTX_ENTRY,
                   {Numbers({{RDMA_NLDEV_ATTR_RES_CTXN, 7}, {RDMA_NLDEV_ATTR_RES_PID, 1234}}),
                    Numbers({{RDMA_NLDEV_ATTR_RES_CTXN, 8}}), std::string()})};

  const auto rows = DecodeContexts(answer, "rxe0");

  ASSERT_TRUE(rows);
  ASSERT_EQ(rows->size(), 2U);  // the empty row is a kernel context
  EXPECT_EQ(rows->at(0), (ContextRow{.device = "rxe0", .ctxn = 7, .creator = {.pid = 1234}}));
  EXPECT_EQ(rows->at(1).creator.pid, std::nullopt);
}

TEST(DecodePdsTest, LeadsFromPdToContext) {
  std::string kernel_pd = Numbers({{RDMA_NLDEV_ATTR_RES_PDN, 1}});
  PutText(kernel_pd, RDMA_NLDEV_ATTR_RES_KERN_NAME, "ib_core");
  std::string user_pd = Numbers(
      {{RDMA_NLDEV_ATTR_RES_PDN, 2}, {RDMA_NLDEV_ATTR_RES_CTXN, 7}, {RDMA_NLDEV_ATTR_RES_PID, 99}});
  PutNumber64(user_pd, RDMA_NLDEV_ATTR_RES_USECNT, 3);

  const auto rows = DecodePds(
      {TableMessage(RDMA_NLDEV_ATTR_RES_PD, RDMA_NLDEV_ATTR_RES_PD_ENTRY, {kernel_pd, user_pd})});

  ASSERT_TRUE(rows);
  ASSERT_EQ(rows->size(), 2U);
  EXPECT_TRUE(rows->at(0).creator.is_kernel());
  EXPECT_EQ(rows->at(0).ctxn, std::nullopt);
  EXPECT_EQ(rows->at(1), (PdRow{.pdn = 2, .ctxn = 7, .users = 3, .creator = {.pid = 99}}));
}

std::string QpEntry(std::uint32_t lqpn, std::uint32_t port, std::uint8_t type, std::uint8_t state) {
  std::string bytes =
      Numbers({{RDMA_NLDEV_ATTR_PORT_INDEX, port}, {RDMA_NLDEV_ATTR_RES_LQPN, lqpn}});
  PutNumber8(bytes, RDMA_NLDEV_ATTR_RES_TYPE, type);
  PutNumber8(bytes, RDMA_NLDEV_ATTR_RES_STATE, state);
  return bytes;
}

NldevAnswer QpAnswer(const std::vector<std::vector<std::string>>& parts) {
  NldevAnswer answer;
  for (const auto& part : parts) {
    answer.push_back(TableMessage(RDMA_NLDEV_ATTR_RES_QP, RDMA_NLDEV_ATTR_RES_QP_ENTRY, part));
  }
  return answer;
}

TEST(DecodeQpsTest, ReadsTypeStateAndPeer) {
  std::string entry = QpEntry(17, 1, 2, 3);
  entry += Numbers({{RDMA_NLDEV_ATTR_RES_PDN, 2},
                    {RDMA_NLDEV_ATTR_RES_PID, 99},
                    {RDMA_NLDEV_ATTR_RES_RQPN, 18}});

  const auto rows = DecodeQps(QpAnswer({{entry}}));

  ASSERT_TRUE(rows);
  EXPECT_EQ(rows->front(), (QpRow{.lqpn = 17,
                                  .rqpn = 18,
                                  .type = QpType::kRc,
                                  .state = QpState::kRts,
                                  .pdn = 2,
                                  .port = 1,
                                  .creator = {.pid = 99}}));
}

TEST(DecodeQpsTest, ARowThatAPartRepeatsCountsOnce) {
  const auto rows = DecodeQps(QpAnswer({{QpEntry(17, 1, 2, 3)}, {QpEntry(17, 1, 2, 3)}}));

  ASSERT_TRUE(rows);
  EXPECT_EQ(rows->size(), 1U);
}

TEST(DecodeQpsTest, EveryPortHasItsOwnQueuePairOne) {
  const auto rows = DecodeQps(QpAnswer({{QpEntry(1, 1, 1, 3), QpEntry(1, 2, 1, 3)}}));

  ASSERT_TRUE(rows);
  EXPECT_EQ(rows->size(), 2U);
  EXPECT_EQ(Name(rows->front().type), "gsi");
}

TEST(DecodeQpsTest, NumbersThatAreNotKnownAreNamedSo) {
  const auto rows = DecodeQps(QpAnswer({{QpEntry(5, 1, 77, 42)}}));

  ASSERT_TRUE(rows);
  EXPECT_EQ(Name(rows->front().type), "other");
  EXPECT_EQ(rows->front().state, QpState::kUnknown);
}

TEST(DecodeQpsTest, ABrokenTableIsCorrupt) {
  std::string message;
  PutNest(message, RDMA_NLDEV_ATTR_RES_QP, "\xff\xff\xff\xff");

  EXPECT_EQ(DecodeQps({message}).error().code, ErrorCode::kCorrupt);
}

TEST(DecodeResourcesTest, ReadsCqsMrsAndSrqs) {
  std::string mr = Numbers({{RDMA_NLDEV_ATTR_RES_MRN, 4}, {RDMA_NLDEV_ATTR_RES_PDN, 2}});
  PutNumber64(mr, RDMA_NLDEV_ATTR_RES_MRLEN, std::uint64_t{5} << 32);

  const auto mrs =
      DecodeMrs({TableMessage(RDMA_NLDEV_ATTR_RES_MR, RDMA_NLDEV_ATTR_RES_MR_ENTRY, {mr})});
  const auto cqs = DecodeCqs({TableMessage(RDMA_NLDEV_ATTR_RES_CQ, RDMA_NLDEV_ATTR_RES_CQ_ENTRY,
                                           {Numbers({{RDMA_NLDEV_ATTR_RES_CQN, 3},
                                                     {RDMA_NLDEV_ATTR_RES_CQE, 128},
                                                     {RDMA_NLDEV_ATTR_RES_CTXN, 7}})})});
  const auto srqs = DecodeSrqs(
      {TableMessage(RDMA_NLDEV_ATTR_RES_SRQ, RDMA_NLDEV_ATTR_RES_SRQ_ENTRY,
                    {Numbers({{RDMA_NLDEV_ATTR_RES_SRQN, 6}, {RDMA_NLDEV_ATTR_RES_PDN, 2}})})});

  ASSERT_TRUE(mrs && cqs && srqs);
  EXPECT_EQ(mrs->front(),
            (MrRow{.mrn = 4, .bytes = std::uint64_t{5} << 32, .pdn = 2, .creator = {}}));
  EXPECT_EQ(cqs->front(), (CqRow{.cqn = 3, .entries = 128, .ctxn = 7, .creator = {}}));
  EXPECT_EQ(srqs->front(), (SrqRow{.srqn = 6, .pdn = 2, .creator = {}}));
}

TEST(DecodeSummaryTest, CountsByTheKernelsNames) {
  const auto entry = [](std::string_view name, std::uint64_t count) {
    std::string bytes;
    PutText(bytes, RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_NAME, name);
    PutNumber64(bytes, RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_CURR, count);
    return bytes;
  };

  const auto counts =
      DecodeSummary({TableMessage(RDMA_NLDEV_ATTR_RES_SUMMARY, RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY,
                                  {entry("qp", 4), entry("cm_id", 0), entry("mr", 70'000)})});

  ASSERT_TRUE(counts);
  EXPECT_EQ(*counts, (ResourceCounts{{"qp", 4}, {"cm_id", 0}, {"mr", 70'000}}));
}

TEST(FormatGuidTest, IsWhatSysfsPrints) {
  EXPECT_EQ(FormatGuid(0x0c42a10300abcdef), "0c42:a103:00ab:cdef");
  EXPECT_EQ(FormatGuid(0), "0000:0000:0000:0000");
}

}  // namespace
}  // namespace rb::agent::rdma
