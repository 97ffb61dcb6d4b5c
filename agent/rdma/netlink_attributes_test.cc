#include "agent/rdma/netlink_attributes.h"

#include <gtest/gtest.h>

#include <string>

namespace rb::agent::rdma {
namespace {

using std::string_literals::operator""s;

TEST(NetlinkAttributesTest, BuildsLengthTypeValueAndPadding) {
  std::string bytes;

  PutNumber32(bytes, 1, 7);
  PutText(bytes, 45, "uverbs");
  PutNumber8(bytes, 66, 1);

  EXPECT_EQ(bytes,
            "\x08\0\x01\0\x07\0\0\0"s
            "\x0b\0\x2d\0uverbs\0\0"s
            "\x05\0\x42\0\x01\0\0\0"s);
}

TEST(NetlinkAttributesTest, ReadsIntegersOfEverySize) {
  std::string bytes;
  PutNumber8(bytes, 1, 0xab);
  PutNumber32(bytes, 2, 0x89abcdef);
  PutNumber64(bytes, 3, 0x0123456789abcdef);

  const auto parsed = NetlinkAttributes::Parse(bytes);

  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->Number(1), 0xabU);
  EXPECT_EQ(parsed->Number(2), 0x89abcdefU);
  EXPECT_EQ(parsed->Number(3), 0x0123456789abcdefU);
  EXPECT_EQ(parsed->Number32(2), 0x89abcdefU);
}

TEST(NetlinkAttributesTest, AbsentAndOddSizedNumbersAreAbsent) {
  std::string bytes;
  PutText(bytes, 4, "xy");  // 3 bytes with its NUL
  PutNumber64(bytes, 5, std::uint64_t{1} << 32);

  const auto parsed = NetlinkAttributes::Parse(bytes);

  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->Number(4), std::nullopt);
  EXPECT_EQ(parsed->Number(9), std::nullopt);
  EXPECT_EQ(parsed->Number32(5), std::nullopt);
  EXPECT_EQ(parsed->Text(9), "");
}

TEST(NetlinkAttributesTest, IgnoresTheFlagsInAType) {
  std::string inner;
  PutNumber32(inner, 2, 5);
  std::string bytes;
  PutNest(bytes, 20, inner);  // sets NLA_F_NESTED
  PutNest(bytes, 20, "");

  const auto parsed = NetlinkAttributes::Parse(bytes);
  ASSERT_TRUE(parsed);
  const auto nests = parsed->Nests(20);

  ASSERT_TRUE(nests);
  ASSERT_EQ(nests->size(), 2U);
  EXPECT_EQ(nests->front().Number(2), 5U);
  EXPECT_EQ(nests->back().Number(2), std::nullopt);
}

TEST(NetlinkAttributesTest, RefusesALengthThatDoesNotFit) {
  const std::string past_the_end = "\x09\0\x01\0\x07\0\0\0"s;
  const std::string shorter_than_its_header = "\x03\0\x01\0"s;
  const std::string would_never_advance = "\0\0\0\0"s;

  EXPECT_FALSE(NetlinkAttributes::Parse(past_the_end));
  EXPECT_FALSE(NetlinkAttributes::Parse(shorter_than_its_header));
  EXPECT_FALSE(NetlinkAttributes::Parse(would_never_advance));
}

TEST(NetlinkAttributesTest, RefusesABrokenNest) {
  std::string bytes;
  PutNest(bytes, 20, "\xff\0\x01\0"s);

  const auto parsed = NetlinkAttributes::Parse(bytes);

  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->Nests(20).error().code, ErrorCode::kCorrupt);
}

TEST(NetlinkAttributesTest, LastPaddingMayBeMissing) {
  const std::string bytes = "\x05\0\x42\0\x01"s;

  const auto parsed = NetlinkAttributes::Parse(bytes);

  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->Number(0x42), 1U);
}

}  // namespace
}  // namespace rb::agent::rdma
