// RDMA netlink's answers as a Debian 6.1 kernel gave them, with a Soft-RoCE and a Soft-iWARP device
// and one ibv_rc_pingpong (pid 224) that waits on rxe0. Recorded by tests/lab/tools/rdma_probe.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "agent/rdma/nldev_decode.h"

namespace rb::agent::rdma {
namespace {

constexpr std::string_view kRxeDevice =
    "080001000000000009000200727865300000000008000300010000000c000400763c2201000000000c000600"
    "dedfa9feffe3b0b80c000700dedfa9feffe3b0b805000e0001000000050054000000000009004300726f6365"
    "00000000";
constexpr std::string_view kSiwDevice =
    "080001000100000009000200736977300000000008000300010000000c00040000002000000000000c000600"
    "ec6ee2feffb82af80c000700ec6ee2feffb82af805000e000400000005005400000000000700430069770000";
constexpr std::string_view kPort =
    "0800010000000000090002007278653000000000080003000100000005000c000400000005000d0005000000"
    "0800320003000000090033006c61623000000000";
constexpr std::string_view kContexts =
    "08000100000000000900020072786530000000001800560014005700080040000000000008001c00e0000000";
constexpr std::string_view kPds =
    "080001000000000009000200727865300000000060002e002c002f0008003000dc0100000c00260001000000"
    "0000000008003c00000000000c001d0069625f636f72650030002f0008003000000000000c00260002000000"
    "0000000008003c0001000000080040000000000008001c00e0000000";
constexpr std::string_view kQps =
    "0800010000000000090002007278653000000000900013005400140008000300010000000800150011000000"
    "08003c000100000008001c00e000000008001600000000000800170000000000080018000000000005001900"
    "0000000005001a000200000005001b000100000038001400080003000100000008001500010000000c001d00"
    "69625f636f726500080018000000000005001a000100000005001b0003000000";
constexpr std::string_view kCqs =
    "0800010000000000090002007278653000000000780023003c00240008002500ff0300000c00260002000000"
    "000000000500270002000000050054000000000008003d00000000000c001d0069625f636f72650038002400"
    "08002500ff0100000c0026000200000000000000050054000000000008003d00010000000800400000000000"
    "08001c00e0000000";
constexpr std::string_view kMrs =
    "08000100000000000900020072786530000000003c0028003800290008002a000000000008002b004b020000"
    "0c002d00001000000000000008003e000000000008003c000100000008001c00e0000000";
constexpr std::string_view kSummary =
    "0800010000000000090002007278653000000000b0000f001800100007001100706400000c00120002000000"
    "000000001800100007001100637100000c00120002000000000000001800100007001100717000000c001200"
    "02000000000000001c0010000a001100636d5f69640000000c00120000000000000000001800100007001100"
    "6d7200000c00120001000000000000001800100008001100637478000c001200010000000000000018001000"
    "08001100737271000c0012000000000000000000";
constexpr std::string_view kSiwNode =
    "08004900120000000c004800c1e70000000000000c00470001000000000000000c0046007576657262733100";

NldevAnswer Answer(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  }
  return {bytes};
}

const Creator kPingpong{.pid = 224};
const Creator kCore{.pid = std::nullopt, .kernel_user = "ib_core"};

TEST(RecordedNldevTest, Devices) {
  const auto rxe = DecodeDevices(Answer(kRxeDevice));
  const auto siw = DecodeDevices(Answer(kSiwDevice));

  ASSERT_TRUE(rxe && siw);
  EXPECT_EQ(rxe->front(), (DeviceRow{.index = 0,
                                     .name = "rxe0",
                                     .port_count = 1,
                                     .capability_flags = 0x01223c76,
                                     .firmware = "",
                                     .node_guid = 0xb8b0e3fffea9dfde,
                                     .sys_image_guid = 0xb8b0e3fffea9dfde,
                                     .node_type = NodeType::kChannelAdapter,
                                     .protocol = "roce"}));
  EXPECT_EQ(siw->front().name, "siw0");
  EXPECT_EQ(siw->front().node_type, NodeType::kRnic);
  EXPECT_EQ(siw->front().protocol, "iw");
}

TEST(RecordedNldevTest, PortAndNode) {
  const auto ports = DecodePorts(Answer(kPort));
  const auto node = DecodeCharDevice(Answer(kSiwNode));

  ASSERT_TRUE(ports && node);
  EXPECT_EQ(
      *ports,
      (std::vector<PortRow>{
          {.number = 1, .state = PortState::kActive, .lid = 0, .sm_lid = 0, .netdev = "lab0"}}));
  EXPECT_EQ(*node, (CharDevice{.name = "uverbs1", .major = 231, .minor = 193, .driver_id = 18}));
}

TEST(RecordedNldevTest, EverythingOfAProcessLeadsToItsContext) {
  const auto contexts = DecodeContexts(Answer(kContexts), "rxe0");
  const auto pds = DecodePds(Answer(kPds));
  const auto mrs = DecodeMrs(Answer(kMrs));
  const auto cqs = DecodeCqs(Answer(kCqs));

  ASSERT_TRUE(contexts && pds && mrs && cqs);
  EXPECT_EQ(*contexts,
            (std::vector<ContextRow>{{.device = "rxe0", .ctxn = 0, .creator = kPingpong}}));
  EXPECT_EQ(*pds,
            (std::vector<PdRow>{{.pdn = 0, .ctxn = std::nullopt, .users = 1, .creator = kCore},
                                {.pdn = 1, .ctxn = 0, .users = 2, .creator = kPingpong}}));
  EXPECT_EQ(*mrs, (std::vector<MrRow>{{.mrn = 0, .bytes = 4096, .pdn = 1, .creator = kPingpong}}));
  EXPECT_EQ(*cqs,
            (std::vector<CqRow>{{.cqn = 0, .entries = 1023, .ctxn = std::nullopt, .creator = kCore},
                                {.cqn = 1, .entries = 511, .ctxn = 0, .creator = kPingpong}}));
}

TEST(RecordedNldevTest, QueuePairsOfTheProcessAndOfTheKernel) {
  const auto qps = DecodeQps(Answer(kQps));

  ASSERT_TRUE(qps);
  EXPECT_EQ(*qps, (std::vector<QpRow>{{.lqpn = 17,
                                       .rqpn = 0,
                                       .type = QpType::kRc,
                                       .state = QpState::kInit,
                                       .pdn = 1,
                                       .port = 1,
                                       .creator = kPingpong},
                                      {.lqpn = 1,
                                       .rqpn = std::nullopt,
                                       .type = QpType::kGsi,
                                       .state = QpState::kRts,
                                       .pdn = std::nullopt,
                                       .port = 1,
                                       .creator = kCore}}));
}

TEST(RecordedNldevTest, Summary) {
  const auto counts = DecodeSummary(Answer(kSummary));

  ASSERT_TRUE(counts);
  EXPECT_EQ(*counts,
            (ResourceCounts{
                {"cm_id", 0}, {"cq", 2}, {"ctx", 1}, {"mr", 1}, {"pd", 2}, {"qp", 2}, {"srq", 0}}));
}

// Whatever is cut off, the decoder says so or reads less: it never reads past the end.
TEST(RecordedNldevTest, ACutAnswerIsNeverRead) {
  const std::string whole = Answer(kQps).front();
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const std::vector<char> exact(whole.begin(),
                                  whole.begin() + static_cast<std::ptrdiff_t>(length));
    const NldevAnswer cut{std::string(exact.data(), exact.size())};

    const auto qps = DecodeQps(cut);

    EXPECT_TRUE(!qps || qps->size() <= 2) << length;
  }
}

}  // namespace
}  // namespace rb::agent::rdma
