#include "shim/uverbs/verb_table.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <tuple>

namespace rb::shim {
namespace {

using wire::Limit;

template <typename Table>
void ExpectUniqueRows(const Table& table) {
  std::set<std::tuple<std::uint16_t, std::uint32_t, std::uint32_t>> seen;
  for (const VerbRow& row : table) {
    EXPECT_TRUE(seen.insert({row.object, row.method, row.driver_id}).second)
        << "object " << row.object << " method " << row.method << " stands twice";
  }
}

TEST(VerbTableTest, EveryVerbStandsOnce) {
  ExpectUniqueRows(kIoctlTable);
  ExpectUniqueRows(kWriteTable);
  ExpectUniqueRows(kWriteExTable);
}

TEST(VerbTableTest, EveryObjectLimitHasAWayInAndAWayOut) {
  std::map<std::size_t, std::set<Action>> actions;
  for (const VerbRow& row : kIoctlTable) actions[row.limit].insert(row.action);
  for (const VerbRow& row : kWriteTable) actions[row.limit].insert(row.action);
  for (const VerbRow& row : kWriteExTable) actions[row.limit].insert(row.action);

  for (const wire::LimitRow& limit : wire::kLimitTable) {
    if (!limit.counts_object) continue;
    EXPECT_TRUE(actions[Index(limit.limit)].contains(Action::kCreate)) << limit.name;
    EXPECT_TRUE(actions[Index(limit.limit)].contains(Action::kDestroy)) << limit.name;
  }
}

TEST(VerbTableTest, WriteCommandsHaveTheKernelsSizes) {
  const VerbRow* alloc_pd = FindWrite(Abi::kWrite, IB_USER_VERBS_CMD_ALLOC_PD);
  const VerbRow* reg_mr = FindWrite(Abi::kWrite, IB_USER_VERBS_CMD_REG_MR);
  const VerbRow* modify_qp = FindWrite(Abi::kWrite, IB_USER_VERBS_CMD_MODIFY_QP);

  ASSERT_TRUE(alloc_pd != nullptr && reg_mr != nullptr && modify_qp != nullptr);
  EXPECT_EQ(alloc_pd->core_in, 8);
  EXPECT_EQ(alloc_pd->core_out, 4);
  EXPECT_EQ(reg_mr->core_in, 40);
  EXPECT_EQ(reg_mr->core_out, 12);
  EXPECT_EQ(modify_qp->core_in, 112);
  EXPECT_EQ(modify_qp->core_out, 0);
}

TEST(VerbTableTest, ADriversMethodIsKnownOnlyForThatDriver) {
  EXPECT_NE(FindIoctl(MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_CREATE, RDMA_DRIVER_MLX5),
            nullptr);
  EXPECT_EQ(FindIoctl(MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_CREATE, RDMA_DRIVER_RXE),
            nullptr);
}

TEST(VerbTableTest, UnknownVerbsAreUnknown) {
  EXPECT_EQ(FindIoctl(UVERBS_OBJECT_PD, 77, RDMA_DRIVER_RXE), nullptr);
  EXPECT_EQ(FindWrite(Abi::kWrite, 200), nullptr);
  EXPECT_EQ(FindWrite(Abi::kWriteEx, IB_USER_VERBS_CMD_REG_MR), nullptr);
}

TEST(VerbTableTest, BothFormsOfCreateQpCountAQueuePair) {
  EXPECT_EQ(FindWrite(Abi::kWrite, IB_USER_VERBS_CMD_CREATE_QP)->limit, Index(Limit::kQps));
  EXPECT_EQ(FindWrite(Abi::kWriteEx, IB_USER_VERBS_EX_CMD_CREATE_QP)->limit, Index(Limit::kQps));
  EXPECT_EQ(FindIoctl(UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE, RDMA_DRIVER_RXE)->limit,
            Index(Limit::kQps));
}

}  // namespace
}  // namespace rb::shim
