#include "shim/data_path.h"

#include <gtest/gtest.h>
#include <infiniband/verbs.h>

#include <cerrno>
#include <memory>

#include "shim/process.h"

namespace rb::shim {
namespace {

int g_posts = 0;
int g_post_result = 0;
ibv_send_wr* g_bad = nullptr;

int ProviderPostSend(ibv_qp* /*qp*/, ibv_send_wr* /*requests*/, ibv_send_wr** bad) {
  ++g_posts;
  if (g_post_result != 0) *bad = g_bad;
  return g_post_result;
}

ibv_qp* ProviderCreateQpEx(ibv_context* /*context*/, ibv_qp_init_attr_ex* /*attributes*/) {
  return nullptr;
}

class DataPathTest : public ::testing::Test {
 protected:
  static constexpr int kFd = 900;

  DataPathTest() {
    policy_->state = static_cast<std::uint32_t>(wire::PolicyState::kActive);
    page_->slots[0].holders = 1;
    lease_.policy = policy_.get();
    lease_.counters = page_.get();
    lease_.files = 1;
    Self().table.Insert(kFd, &lease_, 0, 0, 14);
    context_->context.cmd_fd = kFd;
    context_->context.ops.post_send = ProviderPostSend;
    context_->create_qp_ex = ProviderCreateQpEx;
    qp_.context = &context_->context;
    g_posts = 0;
    g_post_result = 0;
    entry_.length = 1'000;
    for (ibv_send_wr& request : requests_) {
      request.opcode = IBV_WR_SEND;
      request.sg_list = &entry_;
      request.num_sge = 1;
    }
    requests_[0].next = &requests_[1];
  }
  ~DataPathTest() override {
    if (File* file = Self().table.Remove(kFd)) Self().table.Finish(file);
  }

  int Post() { return ibv_post_send(&qp_, &requests_[0], &bad_); }
  const wire::OpCount& Sent() const { return page_->slots[0].ops[0]; }

  std::unique_ptr<wire::PolicyPage> policy_ = std::make_unique<wire::PolicyPage>();
  std::unique_ptr<wire::CountersPage> page_ = std::make_unique<wire::CountersPage>();
  std::unique_ptr<verbs_context> context_ = std::make_unique<verbs_context>();
  Lease lease_;
  ibv_qp qp_{};
  ibv_sge entry_{};
  std::array<ibv_send_wr, 2> requests_{};
  ibv_send_wr* bad_ = nullptr;
};

TEST_F(DataPathTest, AnUnpacedLeaseWithoutAccountingKeepsTheProvidersPointers) {
  HookContext(context_.get());

  EXPECT_EQ(context_->context.ops.post_send, &ProviderPostSend);
  EXPECT_EQ(context_->create_qp_ex, &ProviderCreateQpEx);
}

TEST_F(DataPathTest, ACountedLeaseCountsWhatWasPosted) {
  policy_->flags = wire::kPolicyAccounting;
  HookContext(context_.get());
  ASSERT_NE(context_->context.ops.post_send, &ProviderPostSend);

  EXPECT_EQ(Post(), 0);

  EXPECT_EQ(g_posts, 1);
  EXPECT_EQ(Sent().messages, 2U);
  EXPECT_EQ(Sent().bytes, 2'000U);
}

TEST_F(DataPathTest, WhatTheProviderRefusedIsNeitherCountedNorOwed) {
  policy_->flags = wire::kPolicyAccounting | wire::kPolicyPaced;
  policy_->devices[0] = {.rate_bytes_per_second = 1'000'000, .burst_bytes = 1'000'000};
  HookContext(context_.get());
  g_post_result = ENOMEM;
  g_bad = &requests_[1];
  ASSERT_EQ(Post(), ENOMEM);
  const std::uint64_t after_one = page_->buckets[0].arrival_ns;
  g_bad = &requests_[0];

  EXPECT_EQ(Post(), ENOMEM);

  EXPECT_EQ(Sent().messages, 1U);
  EXPECT_LE(page_->buckets[0].arrival_ns, after_one + 1);
  EXPECT_EQ(bad_, &requests_[0]);
}

TEST_F(DataPathTest, ARevokedLeasePostsNothing) {
  policy_->flags = wire::kPolicyAccounting;
  HookContext(context_.get());
  policy_->state = static_cast<std::uint32_t>(wire::PolicyState::kRevoked);

  EXPECT_EQ(Post(), EACCES);

  EXPECT_EQ(g_posts, 0);
  EXPECT_EQ(bad_, &requests_[0]);
}

// libibverbs sets its dummies first and the provider's functions second.
TEST_F(DataPathTest, TheSecondCallKeepsTheProvidersFunction) {
  policy_->flags = wire::kPolicyAccounting;
  context_->context.ops.post_send = [](ibv_qp*, ibv_send_wr*, ibv_send_wr**) { return EOPNOTSUPP; };
  HookContext(context_.get());
  context_->context.ops.post_send = ProviderPostSend;

  HookContext(context_.get());
  HookContext(context_.get());

  EXPECT_EQ(Post(), 0);
  EXPECT_EQ(g_posts, 1);
}

TEST_F(DataPathTest, AContextThatIsNotOursIsLeftAlone) {
  context_->context.cmd_fd = kFd + 1;

  HookContext(context_.get());

  EXPECT_EQ(context_->context.ops.post_send, &ProviderPostSend);
}

}  // namespace
}  // namespace rb::shim
