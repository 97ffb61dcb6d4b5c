#include "shim/uverbs/verdict.h"

#include <gtest/gtest.h>
#include <rdma/mlx5-abi.h>

#include <cerrno>

#include "shim/uverbs/test_call.h"

namespace rb::shim {
namespace {

wire::PolicyPage Policy(std::uint32_t flags, wire::PolicyState state = wire::PolicyState::kActive) {
  wire::PolicyPage page{};
  page.state = static_cast<std::uint32_t>(state);
  page.flags = flags;
  return page;
}

int JudgeCall(TestCall* built, const wire::PolicyPage& policy) {
  Call call;
  EXPECT_TRUE(Decode(built->header(), &call));
  return Judge(call, policy);
}

TestCall CreateQp(std::uint64_t type) {
  TestCall built(UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE);
  built.Inline(UVERBS_ATTR_CREATE_QP_TYPE, type);
  return built;
}

TEST(JudgeTest, AnActiveLeaseLetsOrdinaryCallsThrough) {
  TestCall create = CreateQp(2);
  TestCall unknown(UVERBS_OBJECT_PD, 77);

  EXPECT_EQ(JudgeCall(&create, Policy(0)), 0);
  EXPECT_EQ(JudgeCall(&unknown, Policy(0)), 0);
}

TEST(JudgeTest, ADrainingLeaseMakesNothingNew) {
  const wire::PolicyPage draining = Policy(0, wire::PolicyState::kDraining);
  TestCall create = CreateQp(2);
  TestCall query = TestCall::Write(IB_USER_VERBS_CMD_QUERY_QP);
  TestCall destroy(UVERBS_OBJECT_QP, UVERBS_METHOD_QP_DESTROY);

  EXPECT_EQ(JudgeCall(&create, draining), EACCES);
  EXPECT_EQ(JudgeCall(&query, draining), 0);
  EXPECT_EQ(JudgeCall(&destroy, draining), 0);
}

TEST(JudgeTest, ARevokedLeaseOnlyDestroysAndPolls) {
  const wire::PolicyPage revoked = Policy(0, wire::PolicyState::kRevoked);
  TestCall create = CreateQp(2);
  TestCall query = TestCall::Write(IB_USER_VERBS_CMD_QUERY_QP);
  TestCall post = TestCall::Write(IB_USER_VERBS_CMD_POST_SEND);
  TestCall destroy(UVERBS_OBJECT_QP, UVERBS_METHOD_QP_DESTROY);
  TestCall poll = TestCall::Write(IB_USER_VERBS_CMD_REQ_NOTIFY_CQ);
  TestCall unknown(UVERBS_OBJECT_PD, 77);

  EXPECT_EQ(JudgeCall(&create, revoked), EACCES);
  EXPECT_EQ(JudgeCall(&query, revoked), EACCES);
  EXPECT_EQ(JudgeCall(&post, revoked), EACCES);
  EXPECT_EQ(JudgeCall(&unknown, revoked), EACCES);
  EXPECT_EQ(JudgeCall(&destroy, revoked), 0);
  EXPECT_EQ(JudgeCall(&poll, revoked), 0);
}

// A state that this version does not know can only mean less.
TEST(JudgeTest, AnUnknownStateIsTakenAsRevoked) {
  TestCall create = CreateQp(2);

  EXPECT_EQ(JudgeCall(&create, Policy(0, static_cast<wire::PolicyState>(9))), EACCES);
}

TEST(JudgeTest, RawPacketsNeedTheLeasesWord) {
  TestCall raw = CreateQp(8);
  TestCall rc = CreateQp(2);
  TestCall flow =
      TestCall::Write(IB_USER_VERBS_CMD_FLAG_EXTENDED | IB_USER_VERBS_EX_CMD_CREATE_FLOW);
  ib_uverbs_create_qp request{};
  request.qp_type = 8;
  TestCall raw_write = TestCall::Write(IB_USER_VERBS_CMD_CREATE_QP);
  raw_write.Pointer(UVERBS_ATTR_CORE_IN, &request);

  EXPECT_EQ(JudgeCall(&raw, Policy(wire::kPolicyDenyRaw)), EPERM);
  EXPECT_EQ(JudgeCall(&raw_write, Policy(wire::kPolicyDenyRaw)), EPERM);
  EXPECT_EQ(JudgeCall(&flow, Policy(wire::kPolicyDenyRaw)), EPERM);
  EXPECT_EQ(JudgeCall(&rc, Policy(wire::kPolicyDenyRaw)), 0);
  EXPECT_EQ(JudgeCall(&raw, Policy(0)), 0);
}

TEST(JudgeTest, DevxNeedsTheLeasesWordButMayAlwaysBeTornDown) {
  TestCall create(MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_CREATE, RDMA_DRIVER_MLX5);
  TestCall destroy(MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_DESTROY, RDMA_DRIVER_MLX5);
  TestCall doorbell(MLX5_IB_OBJECT_UAR, MLX5_IB_METHOD_UAR_OBJ_ALLOC, RDMA_DRIVER_MLX5);
  const std::uint32_t deny = wire::kPolicyDenyDevx | wire::kPolicyDenyUnknown;

  EXPECT_EQ(JudgeCall(&create, Policy(deny)), EOPNOTSUPP);
  EXPECT_EQ(JudgeCall(&create, Policy(0)), 0);
  EXPECT_EQ(JudgeCall(&destroy, Policy(deny)), 0);
  EXPECT_EQ(JudgeCall(&doorbell, Policy(deny)), 0);
}

TEST(JudgeTest, UnknownVerbsFollowTheLease) {
  TestCall unknown(UVERBS_OBJECT_PD, 77);

  EXPECT_EQ(JudgeCall(&unknown, Policy(wire::kPolicyDenyUnknown)), EOPNOTSUPP);
}

TEST(JudgeTest, AForeignClassIsRefusedOnlyWhenTheLeaseSaysSo) {
  ib_uverbs_modify_qp request{};
  request.attr_mask = 1U << 7;
  request.dest.is_global = 1;
  TestCall modify = TestCall::Write(IB_USER_VERBS_CMD_MODIFY_QP);
  modify.Pointer(UVERBS_ATTR_CORE_IN, &request);
  wire::PolicyPage policy = Policy(wire::kPolicyHasClass);
  policy.traffic_class = 104;

  EXPECT_EQ(JudgeCall(&modify, policy), 0);
  policy.flags |= wire::kPolicyRefuseClass;
  EXPECT_EQ(JudgeCall(&modify, policy), EACCES);
  request.dest.traffic_class = 104;
  EXPECT_EQ(JudgeCall(&modify, policy), 0);
}

TEST(MustStripDevxTest, OnlyMlx5ContextsThatAskForIt) {
  mlx5_ib_alloc_ucontext_req_v2 request{};
  request.flags = MLX5_IB_ALLOC_UCTX_DEVX;
  TestCall mlx5(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_GET_CONTEXT, RDMA_DRIVER_MLX5);
  mlx5.Pointer(UVERBS_ATTR_UHW_IN, &request);
  TestCall other(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_GET_CONTEXT, RDMA_DRIVER_RXE);
  other.Pointer(UVERBS_ATTR_UHW_IN, &request);
  Call call;

  ASSERT_TRUE(Decode(mlx5.header(), &call));
  EXPECT_TRUE(MustStripDevx(call, Policy(wire::kPolicyDenyDevx)));
  EXPECT_FALSE(MustStripDevx(call, Policy(0)));
  ASSERT_TRUE(Decode(other.header(), &call));
  EXPECT_FALSE(MustStripDevx(call, Policy(wire::kPolicyDenyDevx)));
}

}  // namespace
}  // namespace rb::shim
