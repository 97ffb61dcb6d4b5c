#include "shim/destroyed.h"

#include <gtest/gtest.h>
#include <infiniband/verbs.h>

#include "shim/uverbs/test_call.h"

namespace rb::shim {
namespace {

Call Decoded(TestCall* built) {
  Call call;
  EXPECT_TRUE(Decode(built->header(), &call));
  return call;
}

TEST(AnswerDestroyedTest, ACompletionQueueHasTwoCounts) {
  ibv_cq queue{};
  queue.comp_events_completed = 5;
  queue.async_events_completed = 2;
  ib_uverbs_destroy_cq_resp response{};
  TestCall built(UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_DESTROY);
  built.Output(UVERBS_ATTR_DESTROY_CQ_RESP, &response, sizeof(response));

  AnswerDestroyed(Decoded(&built), reinterpret_cast<std::uint64_t>(&queue));

  EXPECT_EQ(response.comp_events_reported, 5U);
  EXPECT_EQ(response.async_events_reported, 2U);
}

TEST(AnswerDestroyedTest, TheWriteFormAnswersInTheCoresResponse) {
  ibv_srq queue{};
  queue.events_completed = 4;
  ib_uverbs_destroy_srq request{};
  std::uint32_t response = 77;
  TestCall built = TestCall::Write(IB_USER_VERBS_CMD_DESTROY_SRQ);
  built.Pointer(UVERBS_ATTR_CORE_IN, &request)
      .Output(UVERBS_ATTR_CORE_OUT, &response, sizeof(response));

  AnswerDestroyed(Decoded(&built), reinterpret_cast<std::uint64_t>(&queue));

  EXPECT_EQ(response, 4U);
}

TEST(AnswerDestroyedTest, AWorkQueueSaysHowLongItsAnswerIs) {
  ibv_wq queue{};
  queue.events_completed = 6;
  ib_uverbs_ex_destroy_wq_resp response{};
  TestCall built =
      TestCall::Write(IB_USER_VERBS_CMD_FLAG_EXTENDED | IB_USER_VERBS_EX_CMD_DESTROY_WQ);
  built.Output(UVERBS_ATTR_CORE_OUT, &response, sizeof(response));

  AnswerDestroyed(Decoded(&built), reinterpret_cast<std::uint64_t>(&queue));

  EXPECT_EQ(response.response_length, sizeof(response));
  EXPECT_EQ(response.events_reported, 6U);
}

TEST(AnswerDestroyedTest, AnAddressGoneBadReadsAsNoEvents) {
  std::uint32_t response = 77;
  TestCall built(UVERBS_OBJECT_QP, UVERBS_METHOD_QP_DESTROY);
  built.Output(UVERBS_ATTR_DESTROY_QP_RESP, &response, sizeof(response));

  AnswerDestroyed(Decoded(&built), 0x10);

  EXPECT_EQ(response, 0U);
}

TEST(AnswerDestroyedTest, ObjectsWithoutEventsHaveNoAnswer) {
  TestCall built(UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY);
  built.Inline(UVERBS_ATTR_DESTROY_PD_HANDLE, 1, 0);

  AnswerDestroyed(Decoded(&built), 0);  // nothing to write, nothing written
}

}  // namespace
}  // namespace rb::shim
