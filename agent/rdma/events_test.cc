#include "agent/rdma/events.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace rb::agent::rdma {
namespace {

using std::string_literals::operator""s;

constexpr InventoryChange kNothing{};
constexpr InventoryChange kDevices{.devices = true, .ports = false};

TEST(ParseUeventTest, KnowsTheSubsystemsThatMakeTheInventory) {
  struct Row {
    std::string message;
    InventoryChange want;
  };
  const std::vector<Row> rows{
      {"add@/devices/virtual/infiniband/rxe0\0ACTION=add\0DEVPATH=/devices/virtual/infiniband/"
       "rxe0\0SUBSYSTEM=infiniband\0NAME=rxe0\0SEQNUM=812\0"s,
       kDevices},
      {"remove@/devices/virtual/infiniband_verbs/uverbs0\0ACTION=remove\0SUBSYSTEM="
       "infiniband_verbs\0MAJOR=231\0"s,
       kDevices},
      {"add@/devices/x/infiniband_mad/umad0\0ACTION=add\0SUBSYSTEM=infiniband_mad\0"s, kDevices},
      {"add@/devices/virtual/net/veth0\0ACTION=add\0SUBSYSTEM=net\0"s, kNothing},
      // The last line may come without its NUL.
      {"add@/x\0SUBSYSTEM=infiniband"s, kDevices},
  };
  for (const Row& row : rows) EXPECT_EQ(ParseUevent(row.message), row.want) << row.message;
}

TEST(ParseUeventTest, AnythingElseMeansNothing) {
  EXPECT_EQ(ParseUevent(""), kNothing);
  EXPECT_EQ(ParseUevent("libudev\0\xfe\xed\xca\xfeSUBSYSTEM=infiniband\0"s), kNothing);
  EXPECT_EQ(ParseUevent("add@/x"), kNothing);
  EXPECT_EQ(ParseUevent("add@/x\0\0\0SUBSYSTEM=infinibandx\0"s), kNothing);
  EXPECT_EQ(ParseUevent("no action\0SUBSYSTEM=infiniband\0"s), kNothing);
}

TEST(InventoryEventsTest, AQuietSystemIsNeitherReadableNorChanged) {
  auto events = ListenForInventoryEvents();
  if (!events) GTEST_SKIP() << "no netlink event sockets here: " << events.error().message;
  ASSERT_TRUE((*events)->Drain());

  const auto again = (*events)->Drain();

  ASSERT_TRUE(again);
  EXPECT_FALSE(again->devices);
  EXPECT_GE((*events)->fd(), 0);
}

}  // namespace
}  // namespace rb::agent::rdma
