#include "cli/enter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/wire/limits.h"
#include "common/runtime/unix_listener.h"
#include "tests/support/fake_agent.h"

namespace rb::cli {
namespace {

using ::testing::HasSubstr;

class EnterLeaseTest : public ::testing::Test {
 protected:
  std::string tenant_socket() const { return agent_.Path("tenant/agent.sock"); }

  test::FakeAgent agent_;
};

TEST_F(EnterLeaseTest, ReturnsTheLease) {
  const auto lease = EnterLease(tenant_socket(), "rbl_1");

  ASSERT_TRUE(lease) << lease.error().message;
  EXPECT_EQ(*lease, "lease-0");
  EXPECT_EQ(agent_.entered().at(0).token, "rbl_1");
}

TEST_F(EnterLeaseTest, ARefusalKeepsItsReason) {
  agent_.RefuseEnter("no_lease");

  const auto lease = EnterLease(tenant_socket(), "rbl_1");

  ASSERT_FALSE(lease);
  EXPECT_EQ(lease.error().code, ErrorCode::kDenied);
  EXPECT_EQ(lease.error().reason, "no_lease");
  EXPECT_EQ(lease.error().message, "enter lease: not this one (no_lease)");
}

TEST_F(EnterLeaseTest, AClosedConnectionIsAnError) {
  agent_.HangUpOnEnter();

  const auto lease = EnterLease(tenant_socket(), "rbl_1");

  ASSERT_FALSE(lease);
  EXPECT_EQ(lease.error().code, ErrorCode::kCorrupt);
}

TEST_F(EnterLeaseTest, ATokenThatDoesNotFitIsRefusedBeforeTheCall) {
  EXPECT_TRUE(EnterLease(tenant_socket(), std::string(wire::kTokenBytes - 1, 't')));
  for (const std::string& token : {std::string(), std::string(wire::kTokenBytes, 't')}) {
    const auto lease = EnterLease(tenant_socket(), token);
    ASSERT_FALSE(lease);
    EXPECT_EQ(lease.error().code, ErrorCode::kInvalid);
  }
  EXPECT_EQ(agent_.entered().size(), 1U);
}

TEST_F(EnterLeaseTest, NoAgentSaysWhere) {
  const auto lease = EnterLease(agent_.Path("nobody.sock"), "rbl_1");

  ASSERT_FALSE(lease);
  EXPECT_EQ(lease.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(lease.error().message, HasSubstr(agent_.Path("nobody.sock")));
  EXPECT_EQ(EnterLease("/" + std::string(200, 'a'), "rbl_1").error().code, ErrorCode::kInvalid);
}

// A listener that accepts nothing: connect(2) works, the answer never comes.
TEST_F(EnterLeaseTest, AnAgentThatHangsIsATimeout) {
  const auto listener = ListenUnixSeqpacket(agent_.Path("hung.sock"), 0600);
  ASSERT_TRUE(listener);

  const auto lease = EnterLease(agent_.Path("hung.sock"), "rbl_1");

  ASSERT_FALSE(lease);
  EXPECT_EQ(lease.error().code, ErrorCode::kTimeout);
}

}  // namespace
}  // namespace rb::cli
