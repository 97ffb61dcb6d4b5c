#include "agent/control/hotplug.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <string>
#include <vector>

#include "common/runtime/timer.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/fake_rdma_device_opener.h"
#include "tests/fakes/fake_rdma_inventory.h"
#include "tests/support/run_task.h"

namespace rb::agent {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// One packet a change: "+" devices, anything else is about something that is not RDMA; "!" breaks
// the socket.
class PacketEvents final : public rdma::InventoryEvents {
 public:
  PacketEvents() {
    std::array<int, 2> ends{};
    RB_CHECK(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) ==
             0);
    near_.Reset(ends[0]);
    far_.Reset(ends[1]);
  }

  void Send(char kind) const { RB_CHECK(::write(far_.get(), &kind, 1) == 1); }

  int fd() const override { return near_.get(); }

  Result<rdma::InventoryChange> Drain() override {
    ++drains;
    rdma::InventoryChange change;
    char kind = 0;
    while (::read(near_.get(), &kind, 1) == 1) {
      if (kind == '!') return Fail(ErrorCode::kInternal, "read netlink: broken");
      change.devices |= kind == '+';
    }
    return change;
  }

  int drains = 0;

 private:
  UniqueFd near_;
  UniqueFd far_;
};

class HotplugTest : public ::testing::Test {
 protected:
  void Start() { test::RunTask(loop_, hotplug_.Start()); }

  // Until the inventory was read that often and the loop is quiet again.
  void RunUntilReads(int reads) {
    for (int turn = 0; turn < 500 && reader_.reads < reads; ++turn) Pause(milliseconds(2));
    Pause(milliseconds(20));
  }
  void Pause(milliseconds time) { test::RunTask(loop_, SleepFor(loop_, time)); }

  std::vector<std::string> EventTypes() const {
    std::vector<std::string> types;
    for (const rest::Event& event : events_.Since(0, kEventsMax)) types.push_back(event.type);
    return types;
  }

  FakeClock clock_;
  EventLog events_{clock_};
  rdma::FakeInventory reader_;
  rdma::FakeDeviceNodes nodes_;
  PacketEvents source_;
  Loop loop_;
  BlockingPool pool_{loop_, 1};
  NodeView node_{pool_, reader_, events_, {.name = "node-1", .classes = {}}};
  Hotplug hotplug_{loop_, pool_, source_, node_, &nodes_};
};

TEST_F(HotplugTest, TheFirstReadIsDoneWhenStartReturns) {
  reader_.inventory.devices = {rdma::FakeRxeDevice(0)};

  Start();

  EXPECT_NE(node_.inventory().Find("rxe0"), nullptr);
  EXPECT_EQ(nodes_.calls, 1);
  EXPECT_THAT(EventTypes(), ElementsAre("device_added"));
}

TEST_F(HotplugTest, ADeviceThatComesIsSeenAndItsNodeRestricted) {
  Start();
  reader_.inventory.devices = {rdma::FakeRxeDevice(0)};
  nodes_.open_nodes = {{.name = "uverbs0", .mode_before = 0666}};

  source_.Send('+');
  RunUntilReads(2);

  EXPECT_NE(node_.inventory().Find("rxe0"), nullptr);
  EXPECT_THAT(nodes_.open_nodes, IsEmpty());
}

TEST_F(HotplugTest, AStormOfEventsIsAnsweredWithOneLook) {
  Start();

  for (int i = 0; i < 50; ++i) source_.Send('+');
  RunUntilReads(2);

  EXPECT_EQ(reader_.reads, 2);
}

TEST_F(HotplugTest, EventsThatComeWhileItCollectsAreNotLost) {
  Start();

  source_.Send('+');
  Pause(milliseconds(5));
  source_.Send('+');
  RunUntilReads(2);
  source_.Send('+');
  RunUntilReads(3);

  EXPECT_EQ(reader_.reads, 3);
}

TEST_F(HotplugTest, EventsAboutOtherThingsReadNothing) {
  Start();
  const int drains = source_.drains;

  source_.Send('-');
  Pause(milliseconds(80));

  EXPECT_GT(source_.drains, drains);
  EXPECT_EQ(reader_.reads, 1);
}

TEST_F(HotplugTest, AnInventoryThatCannotBeReadKeepsTheLastAndIsReadAgain) {
  reader_.inventory.devices = {rdma::FakeRxeDevice(0)};
  Start();
  reader_.error = Error{.code = ErrorCode::kUnavailable, .message = "netlink: interrupted"};

  source_.Send('+');
  RunUntilReads(2);
  EXPECT_NE(node_.inventory().Find("rxe0"), nullptr);

  reader_.error.reset();
  reader_.inventory.devices.clear();
  source_.Send('+');
  RunUntilReads(3);
  EXPECT_EQ(node_.inventory().Find("rxe0"), nullptr);
}

TEST_F(HotplugTest, ABrokenSourceEndsTheFollowingAndNothingElse) {
  Start();

  source_.Send('!');
  RunUntilReads(1);
  source_.Send('+');
  Pause(milliseconds(80));

  EXPECT_EQ(reader_.reads, 1);
}

TEST_F(HotplugTest, WithoutNodesToGuardTheyAreLeftAlone) {
  PacketEvents source;
  Hotplug hotplug(loop_, pool_, source, node_, nullptr);

  test::RunTask(loop_, hotplug.Start());

  EXPECT_EQ(nodes_.calls, 0);
  EXPECT_EQ(reader_.reads, 1);
}

}  // namespace
}  // namespace rb::agent
