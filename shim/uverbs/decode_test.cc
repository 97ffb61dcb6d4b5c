#include "shim/uverbs/decode.h"

#include <gtest/gtest.h>

#include "shim/uverbs/test_call.h"

namespace rb::shim {
namespace {

using wire::Limit;

TEST(DecodeTest, ReadsACreateByIoctl) {
  TestCall built(UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE);
  built.Inline(UVERBS_ATTR_CREATE_QP_HANDLE, 17, 0)
      .Inline(UVERBS_ATTR_CREATE_QP_USER_HANDLE, 0xabcd)
      .Inline(UVERBS_ATTR_CREATE_QP_TYPE, 8);
  Call call;

  ASSERT_TRUE(Decode(built.header(), &call));

  std::uint32_t handle = 0;
  std::uint64_t user_handle = 0;
  EXPECT_EQ(call.row->limit, Index(Limit::kQps));
  EXPECT_TRUE(CreatedHandle(call, &handle));
  EXPECT_EQ(handle, 17U);
  EXPECT_TRUE(UserHandle(call, &user_handle));
  EXPECT_EQ(user_handle, 0xabcdU);
  EXPECT_TRUE(IsRawPacketQp(call));
}

TEST(DecodeTest, ReadsAWrappedCommandWithAttributesInAnyOrder) {
  ib_uverbs_reg_mr request{};
  request.length = 12345;
  ib_uverbs_reg_mr_resp response{.mr_handle = 9, .lkey = 1, .rkey = 2};
  TestCall built(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE);
  built.Pointer(UVERBS_ATTR_CORE_IN, &request)
      .Pointer(UVERBS_ATTR_CORE_OUT, &response)
      .Inline(UVERBS_ATTR_WRITE_CMD, IB_USER_VERBS_CMD_REG_MR);
  Call call;

  ASSERT_TRUE(Decode(built.header(), &call));

  std::uint64_t bytes = 0;
  std::uint32_t handle = 0;
  EXPECT_EQ(call.abi, Abi::kWrite);
  EXPECT_EQ(call.row->limit, Index(Limit::kMrs));
  EXPECT_TRUE(RegionBytes(call, &bytes));
  EXPECT_EQ(bytes, 12345U);
  EXPECT_TRUE(CreatedHandle(call, &handle));
  EXPECT_EQ(handle, 9U);
}

TEST(DecodeTest, ReadsTheInlineRequestOfAShortCommand) {
  TestCall built = TestCall::Write(IB_USER_VERBS_CMD_DEREG_MR);
  built.Inline(UVERBS_ATTR_CORE_IN, 42, sizeof(ib_uverbs_dereg_mr));
  Call call;

  ASSERT_TRUE(Decode(built.header(), &call));

  std::uint32_t handle = 0;
  EXPECT_TRUE(DestroyedHandle(call, &handle));
  EXPECT_EQ(handle, 42U);
}

TEST(DecodeTest, FindsTheHandleBehindTheResponseAddress) {
  ib_uverbs_destroy_qp request{.response = 1, .qp_handle = 5, .reserved = 0};
  TestCall built = TestCall::Write(IB_USER_VERBS_CMD_DESTROY_QP);
  built.Pointer(UVERBS_ATTR_CORE_IN, &request);
  Call call;

  ASSERT_TRUE(Decode(built.header(), &call));

  std::uint32_t handle = 0;
  EXPECT_TRUE(DestroyedHandle(call, &handle));
  EXPECT_EQ(handle, 5U);
}

TEST(DecodeTest, TellsTheExtendedFormFromThePlain) {
  TestCall built =
      TestCall::Write(IB_USER_VERBS_CMD_FLAG_EXTENDED | IB_USER_VERBS_EX_CMD_CREATE_FLOW);
  Call call;

  ASSERT_TRUE(Decode(built.header(), &call));

  EXPECT_EQ(call.abi, Abi::kWriteEx);
  EXPECT_EQ(call.row->limit, Index(Limit::kFlows));
}

// libibverbs probes for INVOKE_WRITE with a command that has no request at all.
TEST(DecodeTest, ACommandWithoutRequestIsStillThatCommand) {
  TestCall built = TestCall::Write(IB_USER_VERBS_CMD_QUERY_DEVICE);
  Call call;

  ASSERT_TRUE(Decode(built.header(), &call));

  std::uint32_t value = 0;
  EXPECT_EQ(call.row->action, Action::kQuery);
  EXPECT_FALSE(ReadU32(call.core_in, 0, &value));
}

TEST(DecodeTest, AnUnknownVerbHasNoRow) {
  TestCall unknown(UVERBS_OBJECT_PD, 77);
  TestCall unknown_command = TestCall::Write(IB_USER_VERBS_CMD_BIND_MW);
  Call call;

  ASSERT_TRUE(Decode(unknown.header(), &call));
  EXPECT_EQ(call.row, nullptr);
  ASSERT_TRUE(Decode(unknown_command.header(), &call));
  EXPECT_EQ(call.row, nullptr);
}

TEST(DecodeTest, RefusesWhatTheKernelRefuses) {
  TestCall built(UVERBS_OBJECT_QP, UVERBS_METHOD_QP_DESTROY);
  built.Inline(UVERBS_ATTR_DESTROY_QP_HANDLE, 1, 0);
  Call call;

  built.header()->length = static_cast<std::uint16_t>(built.header()->length + 1);
  EXPECT_FALSE(Decode(built.header(), &call));
  built.header()->num_attrs = 0xffff;
  EXPECT_FALSE(Decode(built.header(), &call));
  EXPECT_FALSE(Decode(nullptr, &call));
}

TEST(DecodeTest, ReadsNothingPastTheEndOfABuffer) {
  std::uint32_t word = 7;
  const Bytes bytes{.data = reinterpret_cast<std::uint8_t*>(&word), .size = sizeof(word)};
  std::uint32_t value = 0;
  std::uint64_t wide = 0;

  EXPECT_TRUE(ReadU32(bytes, 0, &value));
  EXPECT_FALSE(ReadU32(bytes, 1, &value));
  EXPECT_FALSE(ReadU32(bytes, ~std::size_t{0}, &value));
  EXPECT_FALSE(ReadU64(bytes, 0, &wide));
}

TEST(DecodeTest, ReregistrationSaysWhetherTheLengthChanges) {
  ib_uverbs_rereg_mr request{};
  request.mr_handle = 3;
  request.length = 4096;
  TestCall built = TestCall::Write(IB_USER_VERBS_CMD_REREG_MR);
  built.Pointer(UVERBS_ATTR_CORE_IN, &request);
  Call call;
  ASSERT_TRUE(Decode(built.header(), &call));

  Reregistration change;
  ASSERT_TRUE(ReadReregistration(call, &change));
  EXPECT_FALSE(change.changes_length);
  request.flags = 1;
  ASSERT_TRUE(ReadReregistration(call, &change));
  EXPECT_TRUE(change.changes_length);
  EXPECT_EQ(change.bytes, 4096U);
  EXPECT_EQ(change.handle, 3U);
}

}  // namespace
}  // namespace rb::shim
