#include "shim/work.h"

#include <gtest/gtest.h>

#include <vector>

namespace rb::shim {
namespace {

// A chain of requests, each with two scatter entries of `bytes`.
class Chain {
 public:
  Chain(std::initializer_list<ibv_wr_opcode> opcodes, std::uint32_t bytes)
      : entries_(2, ibv_sge{.addr = 0, .length = bytes, .lkey = 0}), requests_(opcodes.size()) {
    std::size_t i = 0;
    for (const ibv_wr_opcode opcode : opcodes) {
      requests_[i].opcode = opcode;
      requests_[i].sg_list = entries_.data();
      requests_[i].num_sge = 2;
      if (i > 0) requests_[i - 1].next = &requests_[i];
      ++i;
    }
  }
  ibv_send_wr* at(std::size_t i) { return &requests_[i]; }

 private:
  std::vector<ibv_sge> entries_;
  std::vector<ibv_send_wr> requests_;
};

const wire::OpCount& Of(const Work& work, wire::Op op) {
  return work.ops[static_cast<std::size_t>(op)];
}

TEST(SumWorkTest, SortsByOperation) {
  Chain chain({IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_READ}, 50);

  const Work work = SumWork(chain.at(0), nullptr);

  EXPECT_EQ(Of(work, wire::Op::kSend).bytes, 100U);
  EXPECT_EQ(Of(work, wire::Op::kWrite).messages, 2U);
  EXPECT_EQ(Of(work, wire::Op::kWrite).bytes, 200U);
  EXPECT_EQ(Of(work, wire::Op::kRead).bytes, 100U);
  EXPECT_EQ(work.bytes(), 400U);
}

TEST(SumWorkTest, AnAtomicMovesEightBytes) {
  Chain chain({IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_FETCH_AND_ADD}, 8);

  const Work work = SumWork(chain.at(0), nullptr);

  EXPECT_EQ(Of(work, wire::Op::kAtomic).messages, 2U);
  EXPECT_EQ(Of(work, wire::Op::kAtomic).bytes, 16U);
}

TEST(SumWorkTest, RequestsWithoutPayloadCountNothing) {
  Chain chain({IBV_WR_LOCAL_INV, IBV_WR_BIND_MW}, 50);

  EXPECT_EQ(SumWork(chain.at(0), nullptr).bytes(), 0U);
}

TEST(SumWorkTest, StopsAtTheRequestThatWasRefused) {
  Chain chain({IBV_WR_SEND, IBV_WR_SEND, IBV_WR_SEND}, 50);

  EXPECT_EQ(SumWork(chain.at(0), chain.at(2)).bytes(), 200U);
  EXPECT_EQ(SumWork(chain.at(0), chain.at(0)).bytes(), 0U);
}

}  // namespace
}  // namespace rb::shim
