#include "agent/shims/grant_frame.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>

#include "api/wire/text.h"
#include "tests/fakes/fake_rdma_inventory.h"

namespace rb::agent {
namespace {

LeaseRecord Lease(std::vector<std::string> devices) {
  LeaseRecord lease;
  lease.metadata.name = "lease-0123456789abcdef";
  lease.spec.tenant = "alice";
  lease.grant.devices = std::move(devices);
  return lease;
}

rdma::Inventory TwoDevices() {
  return {.devices = {rdma::FakeRxeDevice(0), rdma::FakeRxeDevice(1)}};
}

std::uint32_t ErrnoFor(ErrorCode code) {
  return MakeErrorFrame({.code = code, .message = "m"}, 1).errno_value;
}

TEST(MakeGrantTest, SaysWhichLeaseAndTenantInAWholeFrame) {
  const wire::GrantReply grant = MakeGrant(Lease({"rxe0"}), TwoDevices(), 41);

  EXPECT_EQ(grant.header.magic, wire::kFrameMagic);
  EXPECT_EQ(grant.header.version, wire::kWireVersion);
  EXPECT_EQ(grant.header.type, static_cast<std::uint16_t>(wire::FrameType::kGrant));
  EXPECT_EQ(grant.header.length, sizeof(grant));
  EXPECT_EQ(grant.header.sequence, 41U);
  EXPECT_STREQ(grant.lease_id.data(), "lease-0123456789abcdef");
  EXPECT_STREQ(grant.tenant.data(), "alice");
}

TEST(MakeGrantTest, DevicesStandInTheOrderOfTheLease) {
  const wire::GrantReply grant = MakeGrant(Lease({"rxe1", "rxe0"}), TwoDevices(), 1);

  ASSERT_EQ(grant.device_count, 2U);
  EXPECT_STREQ(grant.devices[0].name.data(), "rxe1");
  EXPECT_STREQ(grant.devices[0].node.data(), "uverbs1");
  EXPECT_EQ(grant.devices[0].major, 231U);
  EXPECT_EQ(grant.devices[0].minor, 193U);
  EXPECT_EQ(grant.devices[0].driver_id, 14U);
  EXPECT_STREQ(grant.devices[1].name.data(), "rxe0");
  EXPECT_EQ(grant.devices[1].minor, 192U);
}

TEST(MakeGrantTest, AnUnpluggedDeviceKeepsItsPlaceWithoutANode) {
  rdma::Inventory one = TwoDevices();
  one.devices.erase(one.devices.begin());

  const wire::GrantReply grant = MakeGrant(Lease({"rxe0", "rxe1"}), one, 1);

  ASSERT_EQ(grant.device_count, 2U);
  EXPECT_STREQ(grant.devices[0].name.data(), "rxe0");
  EXPECT_STREQ(grant.devices[0].node.data(), "");
  EXPECT_EQ(grant.devices[0].major, 0U);
  EXPECT_STREQ(grant.devices[1].node.data(), "uverbs1");
}

TEST(MakeGrantTest, ANameOfEveryTextThatIsTooLongIsCutAndStillEnds) {
  LeaseRecord lease = Lease({std::string(wire::kDeviceNameBytes, 'd')});
  lease.metadata.name = std::string(wire::kLeaseIdBytes, 'l');
  lease.spec.tenant = std::string(wire::kTenantBytes, 't');

  const wire::GrantReply grant = MakeGrant(lease, {}, 1);

  EXPECT_STREQ(grant.lease_id.data(), std::string(wire::kLeaseIdBytes - 1, 'l').c_str());
  EXPECT_STREQ(grant.tenant.data(), std::string(wire::kTenantBytes - 1, 't').c_str());
  EXPECT_STREQ(grant.devices[0].name.data(), std::string(wire::kDeviceNameBytes - 1, 'd').c_str());
}

TEST(MakeGrantTest, HoldsAsManyDevicesAsALeaseMayHaveAndNotOneMore) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i <= wire::kLeaseDevicesMax; ++i) {
    names.push_back("rxe" + std::to_string(i));
  }

  const wire::GrantReply past = MakeGrant(Lease(names), {}, 1);
  names.pop_back();
  const wire::GrantReply at = MakeGrant(Lease(names), {}, 1);

  EXPECT_EQ(at.device_count, wire::kLeaseDevicesMax);
  EXPECT_EQ(past.device_count, wire::kLeaseDevicesMax);
  EXPECT_STREQ(at.devices.back().name.data(), "rxe15");
}

TEST(MakeErrorFrameTest, CarriesSequenceReasonAndMessage) {
  const Error error{.code = ErrorCode::kNotFound,
                    .message = "device rxe7: not in lease-1",
                    .reason = "device_not_leased"};

  const wire::ErrorReply reply = MakeErrorFrame(error, 12);

  EXPECT_EQ(reply.header.type, static_cast<std::uint16_t>(wire::FrameType::kError));
  EXPECT_EQ(reply.header.length, sizeof(reply));
  EXPECT_EQ(reply.header.sequence, 12U);
  EXPECT_STREQ(reply.reason.data(), "device_not_leased");
  EXPECT_STREQ(reply.message.data(), "device rxe7: not in lease-1");
}

TEST(MakeErrorFrameTest, AnErrorWithoutAReasonIsNamedByItsCode) {
  const wire::ErrorReply reply =
      MakeErrorFrame({.code = ErrorCode::kUnavailable, .message = "m"}, 1);

  EXPECT_STREQ(reply.reason.data(), "unavailable");
}

TEST(MakeErrorFrameTest, EveryCodeHasTheErrnoThatAProgramUnderstands) {
  EXPECT_EQ(ErrnoFor(ErrorCode::kNotFound), static_cast<std::uint32_t>(ENOENT));
  EXPECT_EQ(ErrnoFor(ErrorCode::kExhausted), static_cast<std::uint32_t>(ENOMEM));
  EXPECT_EQ(ErrnoFor(ErrorCode::kDenied), static_cast<std::uint32_t>(EACCES));
  EXPECT_EQ(ErrnoFor(ErrorCode::kConflict), static_cast<std::uint32_t>(EACCES));
  EXPECT_EQ(ErrnoFor(ErrorCode::kTimeout), static_cast<std::uint32_t>(ETIMEDOUT));
  EXPECT_EQ(ErrnoFor(ErrorCode::kUnavailable), static_cast<std::uint32_t>(EAGAIN));
  EXPECT_EQ(ErrnoFor(ErrorCode::kInternal), static_cast<std::uint32_t>(EIO));
  EXPECT_EQ(ErrnoFor(ErrorCode::kCorrupt), static_cast<std::uint32_t>(EIO));
  EXPECT_EQ(ErrnoFor(ErrorCode::kUnsupported), static_cast<std::uint32_t>(EIO));
  EXPECT_EQ(ErrnoFor(ErrorCode::kInvalid), static_cast<std::uint32_t>(EIO));
}

TEST(MakeErrorFrameTest, TextsAreCutToTheirFieldsAndStillEnd) {
  const Error exact{.code = ErrorCode::kDenied,
                    .message = std::string(wire::kErrorTextBytes - 1, 'm'),
                    .reason = std::string(wire::kReasonBytes - 1, 'r')};
  const Error longer{
      .code = ErrorCode::kDenied, .message = exact.message + "mm", .reason = exact.reason + "rr"};

  const wire::ErrorReply fits = MakeErrorFrame(exact, 1);
  const wire::ErrorReply cut = MakeErrorFrame(longer, 1);

  EXPECT_EQ(fits.message.data(), exact.message);
  EXPECT_EQ(fits.reason.data(), exact.reason);
  EXPECT_EQ(cut.message, fits.message);
  EXPECT_EQ(cut.reason, fits.reason);
}

}  // namespace
}  // namespace rb::agent
