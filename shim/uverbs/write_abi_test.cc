#include "shim/uverbs/write_abi.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "shim/uverbs/decode.h"

namespace rb::shim {
namespace {

constexpr std::uint32_t kSiw = RDMA_DRIVER_SIW;

// A plain command: header, then `body`, with `out_bytes` of response at `response`.
std::vector<std::uint32_t> Plain(std::uint32_t command, std::size_t body_bytes,
                                 std::size_t out_bytes, std::uint64_t response) {
  std::vector<std::uint32_t> words((8 + body_bytes) / 4);
  const ib_uverbs_cmd_hdr header{.command = command,
                                 .in_words = static_cast<std::uint16_t>(words.size()),
                                 .out_words = static_cast<std::uint16_t>(out_bytes / 4)};
  std::memcpy(words.data(), &header, sizeof(header));
  if (body_bytes >= 8) std::memcpy(words.data() + 2, &response, sizeof(response));
  return words;
}

int Build(const std::vector<std::uint32_t>& words, InvokeWrite* call) {
  return BuildInvokeWrite(words.data(), words.size() * 4, kSiw, call);
}

TEST(WriteAbiTest, SplitsTheProvidersPartFromTheCores) {
  // ALLOC_PD: 8 bytes of ours, 4 of the provider; answers 4 and 12.
  const auto words = Plain(IB_USER_VERBS_CMD_ALLOC_PD, 12, 16, 0x1000);
  InvokeWrite built;

  ASSERT_EQ(Build(words, &built), 0);

  Call call;
  ASSERT_TRUE(Decode(built.get(), &call));
  EXPECT_EQ(call.row->method, IB_USER_VERBS_CMD_ALLOC_PD);
  EXPECT_EQ(built.get()->driver_id, kSiw);
  EXPECT_EQ(call.core_in.size, 8U);
  EXPECT_EQ(call.uhw_in.size, 4U);
  const ib_uverbs_attr* core_out = FindAttr(built.get(), UVERBS_ATTR_CORE_OUT);
  const ib_uverbs_attr* uhw_out = FindAttr(built.get(), UVERBS_ATTR_UHW_OUT);
  ASSERT_TRUE(core_out != nullptr && uhw_out != nullptr);
  EXPECT_EQ(core_out->len, 4);
  EXPECT_EQ(core_out->data, 0x1000U);
  EXPECT_EQ(uhw_out->len, 12);
  EXPECT_EQ(uhw_out->data, 0x1004U);
}

TEST(WriteAbiTest, APostIsTheCoresAsAWhole) {
  const std::size_t body = sizeof(ib_uverbs_post_send) + sizeof(ib_uverbs_send_wr);
  const auto words = Plain(IB_USER_VERBS_CMD_POST_SEND, body, 4, 0x2000);
  InvokeWrite built;

  ASSERT_EQ(Build(words, &built), 0);

  Call call;
  ASSERT_TRUE(Decode(built.get(), &call));
  EXPECT_EQ(call.core_in.size, body);
  EXPECT_EQ(call.uhw_in.size, 0U);
  EXPECT_EQ(call.core_out.size, 4U);
}

TEST(WriteAbiTest, AShortRequestTravelsInsideTheAttribute) {
  std::vector<std::uint32_t> words = Plain(IB_USER_VERBS_CMD_DEREG_MR, 4, 0, 0);
  words[2] = 42;
  InvokeWrite built;

  ASSERT_EQ(Build(words, &built), 0);

  EXPECT_EQ(FindAttr(built.get(), UVERBS_ATTR_CORE_IN)->data, 42U);
  EXPECT_EQ(FindAttr(built.get(), UVERBS_ATTR_CORE_OUT), nullptr);
}

TEST(WriteAbiTest, AnExtendedCommandSaysItsOwnSplit) {
  std::vector<std::uint64_t> words(3 + 14 + 2);
  const ib_uverbs_cmd_hdr header{
      .command = IB_USER_VERBS_CMD_FLAG_EXTENDED | IB_USER_VERBS_EX_CMD_MODIFY_QP,
      .in_words = 14,
      .out_words = 1};
  const ib_uverbs_ex_cmd_hdr extended{
      .response = 0x3000, .provider_in_words = 2, .provider_out_words = 3, .cmd_hdr_reserved = 0};
  std::memcpy(words.data(), &header, sizeof(header));
  std::memcpy(words.data() + 1, &extended, sizeof(extended));
  InvokeWrite built;

  ASSERT_EQ(BuildInvokeWrite(words.data(), words.size() * 8, kSiw, &built), 0);

  Call call;
  ASSERT_TRUE(Decode(built.get(), &call));
  EXPECT_EQ(call.row->action, Action::kModifyQp);
  EXPECT_EQ(call.core_in.size, 112U);
  EXPECT_EQ(call.core_in.data, reinterpret_cast<std::uint8_t*>(words.data() + 3));
  EXPECT_EQ(call.uhw_in.size, 16U);
  EXPECT_EQ(FindAttr(built.get(), UVERBS_ATTR_UHW_OUT)->data, 0x3008U);
  EXPECT_EQ(FindAttr(built.get(), UVERBS_ATTR_UHW_OUT)->len, 24);
}

TEST(WriteAbiTest, RefusesWhatIsNotAWholeCommand) {
  auto words = Plain(IB_USER_VERBS_CMD_ALLOC_PD, 8, 4, 0);
  InvokeWrite built;

  EXPECT_EQ(BuildInvokeWrite(words.data(), 4, kSiw, &built), EINVAL);
  EXPECT_EQ(BuildInvokeWrite(words.data(), (words.size() * 4) - 4, kSiw, &built), EINVAL);
  EXPECT_EQ(BuildInvokeWrite(nullptr, 64, kSiw, &built), EINVAL);
}

TEST(WriteAbiTest, AnAttributeHoldsAtMost65535Bytes) {
  InvokeWrite built;

  EXPECT_EQ(Build(Plain(IB_USER_VERBS_CMD_POST_SEND, 65532, 4, 0), &built), 0);
  EXPECT_EQ(Build(Plain(IB_USER_VERBS_CMD_POST_SEND, 65536, 4, 0), &built), EINVAL);
}

}  // namespace
}  // namespace rb::shim
