#include "shim/control.h"

#include <gtest/gtest.h>
#include <infiniband/verbs.h>

#include <cerrno>
#include <functional>
#include <memory>
#include <vector>

#include "shim/uverbs/rewrite.h"
#include "shim/uverbs/test_call.h"

namespace rb::shim {
namespace {

using wire::Limit;

// What the kernel does next: the tests put it here, because VerbsCall is a plain function.
std::function<int(ib_uverbs_ioctl_hdr*)> g_kernel;
int g_kernel_calls = 0;

int FakeKernel(int /*fd*/, ib_uverbs_ioctl_hdr* header) {
  ++g_kernel_calls;
  return g_kernel(header);
}

int FailWith(int error) {
  errno = error;
  return -1;
}

class ControlTest : public ::testing::Test {
 protected:
  ControlTest() {
    policy_->state = static_cast<std::uint32_t>(wire::PolicyState::kActive);
    for (const wire::LimitRow& row : wire::kLimitTable) policy_->limits[Index(row.limit)] = 2;
    policy_->limits[Index(Limit::kMrBytes)] = 10'000;
    lease_.policy = policy_.get();
    lease_.counters = page_.get();
    file_.lease = &lease_;
    file_.account = {.page = page_.get(), .slot = &page_->slots[0]};
    g_kernel = [](ib_uverbs_ioctl_hdr*) { return 0; };
    g_kernel_calls = 0;
  }
  ~ControlTest() override { file_.objects.Free(nullptr); }

  int Send(TestCall* call) { return ControlIoctl(FakeKernel, &file_, 3, call->header()); }

  int CreateQp(std::uint32_t handle, std::uint64_t user_handle = 0) {
    TestCall call(UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE);
    call.Inline(UVERBS_ATTR_CREATE_QP_HANDLE, handle, 0)
        .Inline(UVERBS_ATTR_CREATE_QP_USER_HANDLE, user_handle)
        .Inline(UVERBS_ATTR_CREATE_QP_TYPE, 2);
    return Send(&call);
  }

  int DestroyQp(std::uint32_t handle, std::uint32_t* events) {
    TestCall call(UVERBS_OBJECT_QP, UVERBS_METHOD_QP_DESTROY);
    call.Inline(UVERBS_ATTR_DESTROY_QP_HANDLE, handle, 0)
        .Output(UVERBS_ATTR_DESTROY_QP_RESP, events, sizeof(*events));
    return Send(&call);
  }

  int RegisterMr(std::uint32_t handle, std::uint64_t bytes) {
    ib_uverbs_reg_mr request{};
    request.length = bytes;
    ib_uverbs_reg_mr_resp response{.mr_handle = handle, .lkey = 0, .rkey = 0};
    TestCall call = TestCall::Write(IB_USER_VERBS_CMD_REG_MR);
    call.Pointer(UVERBS_ATTR_CORE_IN, &request).Pointer(UVERBS_ATTR_CORE_OUT, &response);
    return Send(&call);
  }

  int Reregister(std::uint32_t handle, std::uint64_t bytes) {
    ib_uverbs_rereg_mr request{};
    request.mr_handle = handle;
    request.flags = 1;
    request.length = bytes;
    TestCall call = TestCall::Write(IB_USER_VERBS_CMD_REREG_MR);
    call.Pointer(UVERBS_ATTR_CORE_IN, &request);
    return Send(&call);
  }

  int DeregisterMr(std::uint32_t handle) {
    TestCall call = TestCall::Write(IB_USER_VERBS_CMD_DEREG_MR);
    call.Inline(UVERBS_ATTR_CORE_IN, handle, sizeof(ib_uverbs_dereg_mr));
    return Send(&call);
  }

  void SetState(wire::PolicyState state) {
    policy_->state = static_cast<std::uint32_t>(state);
    policy_->generation += 2;
  }

  std::uint64_t Used(Limit limit) const { return page_->used[Index(limit)]; }

  std::unique_ptr<wire::PolicyPage> policy_ = std::make_unique<wire::PolicyPage>();
  std::unique_ptr<wire::CountersPage> page_ = std::make_unique<wire::CountersPage>();
  Lease lease_;
  File file_;
};

TEST_F(ControlTest, CountsUpToTheLimitAndAsksTheKernelNoFurther) {
  EXPECT_EQ(CreateQp(1), 0);
  EXPECT_EQ(CreateQp(2), 0);

  EXPECT_EQ(CreateQp(3), -1);

  EXPECT_EQ(errno, ENOMEM);
  EXPECT_EQ(g_kernel_calls, 2);
  EXPECT_EQ(Used(Limit::kQps), 2U);
  EXPECT_EQ(page_->slots[0].denials[Index(Limit::kQps)], 1U);
}

TEST_F(ControlTest, GivesBackWhenTheKernelRefuses) {
  g_kernel = [](ib_uverbs_ioctl_hdr*) { return FailWith(EINVAL); };

  EXPECT_EQ(CreateQp(1), -1);

  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(Used(Limit::kQps), 0U);
}

TEST_F(ControlTest, GivesBackOnDestroyButNotOnAFailedOne) {
  std::uint32_t events = 0;
  CreateQp(1);

  g_kernel = [](ib_uverbs_ioctl_hdr*) { return FailWith(EBUSY); };
  EXPECT_EQ(DestroyQp(1, &events), -1);
  EXPECT_EQ(Used(Limit::kQps), 1U);

  g_kernel = [](ib_uverbs_ioctl_hdr*) { return 0; };
  EXPECT_EQ(DestroyQp(1, &events), 0);
  EXPECT_EQ(Used(Limit::kQps), 0U);
}

TEST_F(ControlTest, ADestroyLeavesAloneWhatGotTheHandleMeanwhile) {
  RegisterMr(7, 1'000);
  g_kernel = [this](ib_uverbs_ioctl_hdr*) {
    // The kernel has freed 7, and another thread's region got it before this call returned.
    file_.objects.Set(7, 3'000 + 1);
    return 0;
  };

  EXPECT_EQ(DeregisterMr(7), 0);

  EXPECT_EQ(Used(Limit::kMrBytes), 0U);
  EXPECT_EQ(file_.objects.Get(7), 3'001U);
}

TEST_F(ControlTest, AFailedDestroyForgetsNothing) {
  RegisterMr(7, 1'000);
  g_kernel = [](ib_uverbs_ioctl_hdr*) { return FailWith(EBUSY); };

  EXPECT_EQ(DeregisterMr(7), -1);

  EXPECT_EQ(errno, EBUSY);
  EXPECT_EQ(file_.objects.Get(7), 1'001U);
}

TEST_F(ControlTest, CountsRegionsAndTheirBytes) {
  EXPECT_EQ(RegisterMr(7, 9'000), 0);

  EXPECT_EQ(RegisterMr(8, 1'001), -1);

  EXPECT_EQ(errno, ENOMEM);
  EXPECT_EQ(Used(Limit::kMrs), 1U);  // the unit that was charged first came back
  EXPECT_EQ(Used(Limit::kMrBytes), 9'000U);
  EXPECT_EQ(DeregisterMr(7), 0);
  EXPECT_EQ(Used(Limit::kMrs), 0U);
  EXPECT_EQ(Used(Limit::kMrBytes), 0U);
}

TEST_F(ControlTest, AReregistrationChargesTheDifference) {
  RegisterMr(7, 4'000);

  EXPECT_EQ(Reregister(7, 9'000), 0);
  EXPECT_EQ(Used(Limit::kMrBytes), 9'000U);
  EXPECT_EQ(Reregister(7, 10'001), -1);
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_EQ(Reregister(7, 1'000), 0);
  EXPECT_EQ(Used(Limit::kMrBytes), 1'000U);
  g_kernel = [](ib_uverbs_ioctl_hdr*) { return FailWith(EFAULT); };
  EXPECT_EQ(Reregister(7, 5'000), -1);
  EXPECT_EQ(Used(Limit::kMrBytes), 1'000U);
}

TEST_F(ControlTest, TheKernelSeesTheLeasesClassAndTheApplicationItsOwn) {
  policy_->flags = wire::kPolicyHasClass;
  policy_->traffic_class = 104;
  policy_->sl = 3;
  ib_uverbs_modify_qp request{};
  request.attr_mask = 1U << 7;
  request.dest.is_global = 1;
  request.dest.traffic_class = 4;
  TestCall call = TestCall::Write(IB_USER_VERBS_CMD_MODIFY_QP);
  call.Pointer(UVERBS_ATTR_CORE_IN, &request);
  ib_uverbs_modify_qp seen{};
  g_kernel = [&seen](ib_uverbs_ioctl_hdr* header) {
    std::memcpy(&seen, InputOf(FindAttr(header, UVERBS_ATTR_CORE_IN)).data, sizeof(seen));
    return 0;
  };

  EXPECT_EQ(Send(&call), 0);

  EXPECT_EQ(seen.dest.traffic_class, 104);
  EXPECT_EQ(seen.dest.sl, 3);
  EXPECT_EQ(request.dest.traffic_class, 4);
  EXPECT_EQ(page_->slots[0].class_rewrites, 1U);
}

TEST_F(ControlTest, ARewrittenAddressHandleIsStillCounted) {
  policy_->flags = wire::kPolicyHasClass;
  policy_->traffic_class = 104;
  ib_uverbs_create_ah request{};
  request.attr.is_global = 1;
  std::uint32_t response[2] = {5, 0};  // NOLINT(modernize-avoid-c-arrays)
  TestCall call = TestCall::Write(IB_USER_VERBS_CMD_CREATE_AH);
  call.Pointer(UVERBS_ATTR_CORE_IN, &request)
      .Output(UVERBS_ATTR_CORE_OUT, response, sizeof(ib_uverbs_create_ah_resp));

  EXPECT_EQ(Send(&call), 0);

  EXPECT_EQ(Used(Limit::kAhs), 1U);
}

TEST_F(ControlTest, LearnsTheDriverAndWrapsWritesWithIt) {
  TestCall query = TestCall::Write(IB_USER_VERBS_CMD_QUERY_DEVICE, RDMA_DRIVER_SIW);
  ASSERT_EQ(Send(&query), 0);
  std::uint32_t driver = 0;
  g_kernel = [&driver](ib_uverbs_ioctl_hdr* header) {
    driver = header->driver_id;
    return 0;
  };
  const std::uint32_t words[3] = {IB_USER_VERBS_CMD_DEALLOC_PD, 3, 9};  // NOLINT

  EXPECT_EQ(ControlWrite(FakeKernel, &file_, 3, words, sizeof(words)),
            static_cast<ssize_t>(sizeof(words)));

  EXPECT_EQ(driver, static_cast<std::uint32_t>(RDMA_DRIVER_SIW));
}

TEST_F(ControlTest, ADriverIdThatTheKernelRefusedIsNotLearnt) {
  file_.driver_id = RDMA_DRIVER_RXE;
  TestCall query = TestCall::Write(IB_USER_VERBS_CMD_QUERY_DEVICE, RDMA_DRIVER_SIW);
  g_kernel = [](ib_uverbs_ioctl_hdr*) { return FailWith(EINVAL); };

  EXPECT_EQ(Send(&query), -1);

  EXPECT_EQ(file_.driver_id, static_cast<std::uint32_t>(RDMA_DRIVER_RXE));
}

TEST_F(ControlTest, ARevokedLeaseRefusesAllButDestroy) {
  std::uint32_t events = 0;
  CreateQp(1);
  SetState(wire::PolicyState::kRevoked);

  EXPECT_EQ(CreateQp(2), -1);
  EXPECT_EQ(errno, EACCES);
  TestCall post = TestCall::Write(IB_USER_VERBS_CMD_POST_SEND);
  EXPECT_EQ(Send(&post), -1);
  EXPECT_EQ(errno, EACCES);
  EXPECT_EQ(DestroyQp(1, &events), 0);
}

// ibv_destroy_qp waits until it has acknowledged as many events as the kernel reports: with a wrong
// number the application would hang for ever.
TEST_F(ControlTest, DestroyingWhatTheAgentDestroyedSucceedsWithTheRightEventCount) {
  ibv_qp queue{};
  queue.events_completed = 3;
  std::uint32_t events = 77;
  CreateQp(1, reinterpret_cast<std::uint64_t>(&queue));
  SetState(wire::PolicyState::kRevoked);
  g_kernel = [](ib_uverbs_ioctl_hdr*) { return FailWith(ENOENT); };

  EXPECT_EQ(DestroyQp(1, &events), 0);

  EXPECT_EQ(events, 3U);
  EXPECT_EQ(Used(Limit::kQps), 0U);
}

TEST_F(ControlTest, OnALiveLeaseAMissingObjectIsAnError) {
  std::uint32_t events = 0;
  g_kernel = [](ib_uverbs_ioctl_hdr*) { return FailWith(ENOENT); };

  EXPECT_EQ(DestroyQp(1, &events), -1);

  EXPECT_EQ(errno, ENOENT);
}

TEST_F(ControlTest, WithoutAReadablePolicyNothingPasses) {
  policy_->generation = 1;

  EXPECT_EQ(CreateQp(1), -1);

  EXPECT_EQ(errno, EACCES);
  EXPECT_EQ(g_kernel_calls, 0);
}

TEST_F(ControlTest, WhatDoesNotDecodeIsTheKernelsToRefuse) {
  TestCall call(UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE);
  call.header()->length = 1;
  g_kernel = [](ib_uverbs_ioctl_hdr*) { return FailWith(EINVAL); };

  EXPECT_EQ(Send(&call), -1);

  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(Used(Limit::kQps), 0U);
}

}  // namespace
}  // namespace rb::shim
