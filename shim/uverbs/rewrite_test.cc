#include "shim/uverbs/rewrite.h"

#include <gtest/gtest.h>
#include <rdma/mlx5-abi.h>

#include "shim/uverbs/test_call.h"

namespace rb::shim {
namespace {

constexpr ClassRule kRule{.set = true, .refuse = false, .traffic_class = 104, .sl = 3};
constexpr ClassRule kStrict{.set = true, .refuse = true, .traffic_class = 104, .sl = 3};
constexpr std::uint32_t kAv = 1U << 7;
constexpr std::uint32_t kAltPath = 1U << 14;

const VerbRow& kModify = *FindWrite(Abi::kWrite, IB_USER_VERBS_CMD_MODIFY_QP);
const VerbRow& kModifyEx = *FindWrite(Abi::kWriteEx, IB_USER_VERBS_EX_CMD_MODIFY_QP);
const VerbRow& kCreateAh = *FindWrite(Abi::kWrite, IB_USER_VERBS_CMD_CREATE_AH);

template <typename T>
Bytes BytesOf(T* value) {
  return {.data = reinterpret_cast<std::uint8_t*>(value), .size = sizeof(*value)};
}

ib_uverbs_modify_qp GlobalModify() {
  ib_uverbs_modify_qp request{};
  request.attr_mask = kAv;
  request.dest.is_global = 1;
  return request;
}

TEST(ApplyClassTest, WritesClassAndServiceLevel) {
  ib_uverbs_modify_qp request = GlobalModify();

  EXPECT_EQ(ApplyClass(kModify, BytesOf(&request), kRule, true), ClassVerdict::kRewrite);

  EXPECT_EQ(request.dest.traffic_class, 104);
  EXPECT_EQ(request.dest.sl, 3);
  EXPECT_EQ(request.dest.static_rate, 0);
}

TEST(ApplyClassTest, OnlyLooksWhenNotAskedToChange) {
  ib_uverbs_modify_qp request = GlobalModify();

  EXPECT_EQ(ApplyClass(kModify, BytesOf(&request), kRule, false), ClassVerdict::kRewrite);

  EXPECT_EQ(request.dest.traffic_class, 0);
}

TEST(ApplyClassTest, LeavesTheLeasesOwnClassAlone) {
  ib_uverbs_modify_qp request = GlobalModify();
  request.dest.traffic_class = 104;
  request.dest.sl = 3;

  EXPECT_EQ(ApplyClass(kModify, BytesOf(&request), kStrict, true), ClassVerdict::kAsIs);
}

TEST(ApplyClassTest, RefusesAForeignClassWhenTheLeaseSaysSo) {
  ib_uverbs_modify_qp request = GlobalModify();
  request.dest.traffic_class = 4;

  EXPECT_EQ(ApplyClass(kModify, BytesOf(&request), kStrict, true), ClassVerdict::kRefuse);

  EXPECT_EQ(request.dest.traffic_class, 4);
}

TEST(ApplyClassTest, IgnoresVectorsThatAreNotSetOrNotGlobal) {
  ib_uverbs_modify_qp without_av = GlobalModify();
  without_av.attr_mask = 0;
  ib_uverbs_modify_qp local = GlobalModify();
  local.dest.is_global = 0;

  EXPECT_EQ(ApplyClass(kModify, BytesOf(&without_av), kRule, true), ClassVerdict::kAsIs);
  EXPECT_EQ(ApplyClass(kModify, BytesOf(&local), kRule, true), ClassVerdict::kAsIs);
}

TEST(ApplyClassTest, CoversTheAlternatePath) {
  ib_uverbs_modify_qp request{};
  request.attr_mask = kAltPath;
  request.alt_dest.is_global = 1;

  EXPECT_EQ(ApplyClass(kModify, BytesOf(&request), kRule, true), ClassVerdict::kRewrite);

  EXPECT_EQ(request.alt_dest.traffic_class, 104);
  EXPECT_EQ(request.dest.traffic_class, 0);
}

TEST(ApplyClassTest, CoversTheExtendedModify) {
  ib_uverbs_ex_modify_qp request{};
  request.base = GlobalModify();

  EXPECT_EQ(ApplyClass(kModifyEx, BytesOf(&request), kRule, true), ClassVerdict::kRewrite);

  EXPECT_EQ(request.base.dest.traffic_class, 104);
  EXPECT_EQ(request.rate_limit, 0U);
}

TEST(ApplyClassTest, CoversAddressHandles) {
  ib_uverbs_create_ah request{};
  request.attr.is_global = 1;

  EXPECT_EQ(ApplyClass(kCreateAh, BytesOf(&request), kRule, true), ClassVerdict::kRewrite);

  EXPECT_EQ(request.attr.grh.traffic_class, 104);
  EXPECT_EQ(request.attr.sl, 3);
}

TEST(ApplyClassTest, ALeaseWithoutClassChangesNothing) {
  ib_uverbs_modify_qp request = GlobalModify();

  EXPECT_EQ(ApplyClass(kModify, BytesOf(&request), ClassRule{}, true), ClassVerdict::kAsIs);
}

TEST(ApplyClassTest, AShortRequestIsLeftForTheKernelToRefuse) {
  ib_uverbs_modify_qp request = GlobalModify();
  const Bytes cut{.data = reinterpret_cast<std::uint8_t*>(&request), .size = 20};

  EXPECT_EQ(ApplyClass(kModify, cut, kStrict, true), ClassVerdict::kAsIs);
}

TEST(StripDevxTest, TakesOutOnlyThatFlag) {
  mlx5_ib_alloc_ucontext_req_v2 request{};
  request.flags = MLX5_IB_ALLOC_UCTX_DEVX | 0x80;

  EXPECT_TRUE(StripDevx(BytesOf(&request), true));

  EXPECT_EQ(request.flags, 0x80U);
  EXPECT_FALSE(StripDevx(BytesOf(&request), true));
}

TEST(CallCopyTest, LeavesTheCallersBufferAlone) {
  ib_uverbs_modify_qp request = GlobalModify();
  TestCall built = TestCall::Write(IB_USER_VERBS_CMD_MODIFY_QP);
  built.Pointer(UVERBS_ATTR_CORE_IN, &request);
  CallCopy copy;

  ASSERT_TRUE(copy.Make(*built.header(), UVERBS_ATTR_CORE_IN));
  ApplyClass(kModify, copy.bytes(), kRule, true);

  Call seen;
  ASSERT_TRUE(Decode(copy.header(), &seen));
  EXPECT_EQ(request.dest.traffic_class, 0);
  EXPECT_EQ(seen.core_in.data[offsetof(ib_uverbs_modify_qp, dest.traffic_class)], 104);
}

TEST(CallCopyTest, BringsTheKernelsAnswersBackButNotItsOwnPointer) {
  ib_uverbs_create_ah request{};
  TestCall built = TestCall::Write(IB_USER_VERBS_CMD_CREATE_AH);
  built.Pointer(UVERBS_ATTR_CORE_IN, &request).Inline(UVERBS_ATTR_UHW_OUT, 0, 0);
  CallCopy copy;
  ASSERT_TRUE(copy.Make(*built.header(), UVERBS_ATTR_CORE_IN));

  ib_uverbs_attr* out = FindAttr(copy.header(), UVERBS_ATTR_UHW_OUT);
  out->flags |= UVERBS_ATTR_F_VALID_OUTPUT;
  copy.CopyBack(built.header());

  EXPECT_NE(FindAttr(built.header(), UVERBS_ATTR_UHW_OUT)->flags & UVERBS_ATTR_F_VALID_OUTPUT, 0);
  EXPECT_EQ(FindAttr(built.header(), UVERBS_ATTR_CORE_IN)->data,
            reinterpret_cast<std::uint64_t>(&request));
}

TEST(CallCopyTest, RefusesWhatIsLargerThanAnyRealCall) {
  std::array<std::uint8_t, CallCopy::kCopyBytesMax + 1> large{};
  TestCall built = TestCall::Write(IB_USER_VERBS_CMD_MODIFY_QP);
  built.Pointer(UVERBS_ATTR_CORE_IN, &large);
  CallCopy copy;

  EXPECT_FALSE(copy.Make(*built.header(), UVERBS_ATTR_CORE_IN));
  EXPECT_FALSE(copy.Make(*built.header(), UVERBS_ATTR_UHW_IN));
}

TEST(CallCopyTest, TakesTheLargestCallItHasRoomFor) {
  std::array<std::uint8_t, CallCopy::kCopyBytesMax> exact{};
  TestCall built = TestCall::Write(IB_USER_VERBS_CMD_MODIFY_QP);
  built.Pointer(UVERBS_ATTR_CORE_IN, &exact);
  CallCopy copy;

  EXPECT_TRUE(copy.Make(*built.header(), UVERBS_ATTR_CORE_IN));
}

}  // namespace
}  // namespace rb::shim
