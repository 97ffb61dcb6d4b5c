#include "agent/rdma/nldev.h"

#include <gtest/gtest.h>
#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>

#include <cerrno>
#include <string>

namespace rb::agent::rdma {
namespace {

using std::string_literals::operator""s;
using Progress = NldevAnswerReader::Progress;

constexpr std::uint32_t kSequence = 41;
constexpr std::uint16_t kAnswerType = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_GET);

std::string Message(int type, int flags, const std::string& payload,
                    std::uint32_t sequence = kSequence) {
  nlmsghdr header{};
  header.nlmsg_len = static_cast<std::uint32_t>(sizeof(header) + payload.size());
  header.nlmsg_type = static_cast<std::uint16_t>(type);
  header.nlmsg_flags = static_cast<std::uint16_t>(flags);
  header.nlmsg_seq = sequence;
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof(header));
  bytes += payload;
  bytes.resize(NLMSG_ALIGN(bytes.size()));
  return bytes;
}

std::string Status(int negative_errno) {
  return {reinterpret_cast<const char*>(&negative_errno), sizeof(negative_errno)};
}

TEST(EncodeNldevRequestTest, PutsClientAndCommandIntoTheType) {
  const NldevRequest request{
      .command = RDMA_NLDEV_CMD_RES_QP_GET, .dump = true, .attributes = "\x08\0\x01\0\x02\0\0\0"s};

  const std::string bytes = EncodeNldevRequest(request, 3);

  // length 24, type (5 << 10) + 10, flags REQUEST|ACK|DUMP, sequence 3, port 0, DEV_INDEX 2
  EXPECT_EQ(bytes,
            "\x18\0\0\0\x0a\x14\x05\x03\x03\0\0\0\0\0\0\0"s
            "\x08\0\x01\0\x02\0\0\0"s);
}

TEST(NldevAnswerReaderTest, CollectsAnAnswerInManyParts) {
  NldevAnswerReader reader(kSequence);

  const auto first = reader.Take(Message(kAnswerType, NLM_F_MULTI, "one") +
                                 Message(kAnswerType, NLM_F_MULTI, "two"));
  const auto second = reader.Take(Message(kAnswerType, NLM_F_MULTI, "three"));
  const auto last = reader.Take(Message(NLMSG_DONE, NLM_F_MULTI, Status(0)));

  EXPECT_EQ(first.value(), Progress::kMore);
  EXPECT_EQ(second.value(), Progress::kMore);
  EXPECT_EQ(last.value(), Progress::kDone);
  EXPECT_EQ(reader.answer(), (NldevAnswer{"one", "two", "three"}));
}

TEST(NldevAnswerReaderTest, AnAnswerInOnePartIsDoneAtOnce) {
  NldevAnswerReader reader(kSequence);

  EXPECT_EQ(reader.Take(Message(kAnswerType, 0, "only")).value(), Progress::kDone);
  EXPECT_EQ(reader.answer(), NldevAnswer{"only"});
}

TEST(NldevAnswerReaderTest, AnAcknowledgementAloneIsAnEmptyAnswer) {
  NldevAnswerReader reader(kSequence);

  EXPECT_EQ(reader.Take(Message(NLMSG_ERROR, 0, Status(0))).value(), Progress::kDone);
  EXPECT_TRUE(reader.answer().empty());
}

TEST(NldevAnswerReaderTest, PassesTheKernelsRefusalOn) {
  NldevAnswerReader reader(kSequence);

  const auto refused = reader.Take(Message(NLMSG_ERROR, 0, Status(-EINVAL)));

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalid);
}

TEST(NldevAnswerReaderTest, ADumpThatFailedHalfWayIsAFailure) {
  NldevAnswerReader reader(kSequence);
  ASSERT_TRUE(reader.Take(Message(kAnswerType, NLM_F_MULTI, "part")));

  const auto done = reader.Take(Message(NLMSG_DONE, NLM_F_MULTI, Status(-ENOMEM)));

  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::kExhausted);
}

TEST(NldevAnswerReaderTest, SaysWhenTheDumpWasInterruptedAnywhere) {
  NldevAnswerReader reader(kSequence);

  const auto part = reader.Take(Message(kAnswerType, NLM_F_MULTI | NLM_F_DUMP_INTR, "part"));
  const auto done = reader.Take(Message(NLMSG_DONE, NLM_F_MULTI, Status(0)));

  EXPECT_EQ(part.value(), Progress::kMore);
  EXPECT_EQ(done.value(), Progress::kInterrupted);
}

TEST(NldevAnswerReaderTest, DropsMessagesOfAnotherQuestion) {
  NldevAnswerReader reader(kSequence);

  const auto other = reader.Take(Message(NLMSG_ERROR, 0, Status(-EPERM), kSequence - 1));
  const auto ours = reader.Take(Message(kAnswerType, 0, "ours"));

  EXPECT_EQ(other.value(), Progress::kMore);
  EXPECT_EQ(ours.value(), Progress::kDone);
  EXPECT_EQ(reader.answer(), NldevAnswer{"ours"});
}

TEST(NldevAnswerReaderTest, RefusesATruncatedMessage) {
  NldevAnswerReader reader(kSequence);
  std::string bytes = Message(kAnswerType, NLM_F_MULTI, "12345678");
  bytes.resize(bytes.size() - 4);

  EXPECT_EQ(reader.Take(bytes).error().code, ErrorCode::kCorrupt);
}

TEST(NldevAnswerReaderTest, RefusesAStatusWithoutACode) {
  NldevAnswerReader reader(kSequence);

  EXPECT_EQ(reader.Take(Message(NLMSG_ERROR, 0, "")).error().code, ErrorCode::kCorrupt);
}

}  // namespace
}  // namespace rb::agent::rdma
