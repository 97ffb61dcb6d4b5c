#include "shim/qp_ex.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <string>

#include "shim/process.h"

namespace rb::shim {
namespace {

std::string g_calls;
int g_complete_result = 0;

void Note(const char* call) { g_calls += std::string(g_calls.empty() ? "" : " ") + call; }

void FillProvider(ibv_qp_ex* qp) {
  qp->wr_start = [](ibv_qp_ex*) { Note("start"); };
  qp->wr_complete = [](ibv_qp_ex*) {
    Note("complete");
    return g_complete_result;
  };
  qp->wr_abort = [](ibv_qp_ex*) { Note("abort"); };
  qp->wr_send = [](ibv_qp_ex*) { Note("send"); };
  qp->wr_rdma_read = [](ibv_qp_ex*, std::uint32_t, std::uint64_t) { Note("read"); };
  qp->wr_rdma_write = [](ibv_qp_ex*, std::uint32_t, std::uint64_t) { Note("write"); };
  qp->wr_local_inv = [](ibv_qp_ex*, std::uint32_t) { Note("inv"); };
  qp->wr_atomic_fetch_add = [](ibv_qp_ex*, std::uint32_t, std::uint64_t, std::uint64_t) {
    Note("atomic");
  };
  qp->wr_set_sge = [](ibv_qp_ex*, std::uint32_t, std::uint64_t, std::uint32_t) { Note("sge"); };
  qp->wr_set_sge_list = [](ibv_qp_ex*, std::size_t, const ibv_sge*) { Note("list"); };
  qp->wr_set_inline_data = [](ibv_qp_ex*, void*, std::size_t) { Note("inline"); };
}

class QpExTest : public ::testing::Test {
 protected:
  static constexpr int kFd = 901;

  QpExTest() {
    policy_->state = static_cast<std::uint32_t>(wire::PolicyState::kActive);
    policy_->flags = wire::kPolicyAccounting;
    page_->slots[0].holders = 1;
    lease_.policy = policy_.get();
    lease_.counters = page_.get();
    lease_.files = 1;
    File* file = Self().table.Insert(kFd, &lease_, 0, 0, 14);
    context_.cmd_fd = kFd;
    qp_.qp_base.context = &context_;
    qp_.qp_base.handle = 12;
    FillProvider(&qp_);
    g_calls.clear();
    g_complete_result = 0;
    HookQpEx(file, &qp_, 0);
  }
  ~QpExTest() override {
    if (File* file = Self().table.Remove(kFd)) Self().table.Finish(file);
  }

  const wire::OpCount& Of(wire::Op op) const {
    return page_->slots[0].ops[static_cast<std::size_t>(op)];
  }

  std::unique_ptr<wire::PolicyPage> policy_ = std::make_unique<wire::PolicyPage>();
  std::unique_ptr<wire::CountersPage> page_ = std::make_unique<wire::CountersPage>();
  Lease lease_;
  ibv_context context_{};
  ibv_qp_ex qp_{};
};

TEST_F(QpExTest, CountsABatchWhenItIsComplete) {
  ibv_sge list[2] = {{0, 30, 0}, {0, 40, 0}};  // NOLINT(modernize-avoid-c-arrays)
  ibv_wr_start(&qp_);
  ibv_wr_send(&qp_);
  ibv_wr_set_sge(&qp_, 1, 0, 100);
  ibv_wr_rdma_read(&qp_, 1, 0);
  ibv_wr_set_sge_list(&qp_, 2, list);
  ibv_wr_rdma_write(&qp_, 1, 0);
  ibv_wr_set_inline_data(&qp_, nullptr, 5);
  EXPECT_EQ(Of(wire::Op::kSend).bytes, 0U);

  EXPECT_EQ(ibv_wr_complete(&qp_), 0);

  EXPECT_EQ(Of(wire::Op::kSend).bytes, 100U);
  EXPECT_EQ(Of(wire::Op::kRead).bytes, 70U);
  EXPECT_EQ(Of(wire::Op::kWrite).bytes, 5U);
  EXPECT_EQ(Of(wire::Op::kWrite).messages, 1U);
  EXPECT_EQ(g_calls, "start send sge read list write inline complete");
}

TEST_F(QpExTest, AnAtomicMovesEightBytesWhateverItsEntrySays) {
  ibv_wr_start(&qp_);
  ibv_wr_atomic_fetch_add(&qp_, 1, 0, 1);
  ibv_wr_set_sge(&qp_, 1, 0, 64);
  ibv_wr_complete(&qp_);

  EXPECT_EQ(Of(wire::Op::kAtomic).bytes, 8U);
}

TEST_F(QpExTest, ARequestWithoutPayloadCountsNothing) {
  ibv_wr_start(&qp_);
  ibv_wr_local_inv(&qp_, 1);
  ibv_wr_complete(&qp_);

  for (const wire::OpCount& op : page_->slots[0].ops) EXPECT_EQ(op.messages, 0U);
}

TEST_F(QpExTest, AFailedBatchIsNotCounted) {
  g_complete_result = ENOMEM;
  ibv_wr_start(&qp_);
  ibv_wr_send(&qp_);
  ibv_wr_set_sge(&qp_, 1, 0, 100);

  EXPECT_EQ(ibv_wr_complete(&qp_), ENOMEM);

  EXPECT_EQ(Of(wire::Op::kSend).messages, 0U);
}

TEST_F(QpExTest, TheNextBatchPaysForALargeOne) {
  policy_->devices[0] = {.rate_bytes_per_second = 1'000'000, .burst_bytes = 1'000};
  ibv_wr_start(&qp_);
  ibv_wr_send(&qp_);
  ibv_wr_set_sge(&qp_, 1, 0, 3'000);
  ibv_wr_complete(&qp_);
  EXPECT_EQ(page_->slots[0].throttled_posts, 0U);

  ibv_wr_start(&qp_);  // 3 ms of debt, 1 ms of burst: waits 2 ms
  ibv_wr_abort(&qp_);

  EXPECT_EQ(page_->slots[0].throttled_posts, 1U);
}

TEST_F(QpExTest, ARevokedLeaseAbortsTheBatch) {
  policy_->state = static_cast<std::uint32_t>(wire::PolicyState::kRevoked);
  ibv_wr_start(&qp_);
  ibv_wr_send(&qp_);

  EXPECT_EQ(ibv_wr_complete(&qp_), EACCES);

  EXPECT_EQ(g_calls, "start send abort");
}

TEST_F(QpExTest, WhatTheProviderLeftOutStaysOut) {
  EXPECT_EQ(qp_.wr_bind_mw, nullptr);
  EXPECT_EQ(qp_.wr_atomic_write, nullptr);
}

TEST_F(QpExTest, AQueueWhoseFileIsGoneTakesRequestsNowhere) {
  Self().table.Finish(Self().table.Remove(kFd));
  ibv_sge entry{.addr = 0, .length = 4, .lkey = 1};

  qp_.wr_start(&qp_);
  qp_.wr_send(&qp_);
  qp_.wr_rdma_write(&qp_, 1, 2);
  qp_.wr_set_sge(&qp_, 1, 2, 3);
  qp_.wr_set_sge_list(&qp_, 1, &entry);

  EXPECT_EQ(qp_.wr_complete(&qp_), EBADF);
  EXPECT_EQ(g_calls, "");
}

}  // namespace
}  // namespace rb::shim
