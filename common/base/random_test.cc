#include "common/base/random.h"

#include <gtest/gtest.h>

#include <set>

namespace rb {
namespace {

TEST(RandomHexTest, HasTwoLowerCaseDigitsPerByte) {
  const std::string text = RandomHex(32);

  EXPECT_EQ(text.size(), 64U);
  EXPECT_EQ(text.find_first_not_of("0123456789abcdef"), std::string::npos);
}

TEST(RandomHexTest, ZeroBytesAreAnEmptyText) { EXPECT_EQ(RandomHex(0), ""); }

TEST(RandomHexTest, DoesNotRepeat) {
  std::set<std::string> seen;

  for (int i = 0; i < 1000; ++i) seen.insert(RandomHex(16));

  EXPECT_EQ(seen.size(), 1000U);
}

TEST(RandomHexTest, UsesAllDigitsAtEveryPlace) {
  // 600 draws miss one given digit at one place with probability (15/16)^600 < 1e-16.
  std::set<char> high;
  std::set<char> low;

  for (int i = 0; i < 600; ++i) {
    const std::string text = RandomHex(1);
    high.insert(text[0]);
    low.insert(text[1]);
  }

  EXPECT_EQ(high.size(), 16U);
  EXPECT_EQ(low.size(), 16U);
}

}  // namespace
}  // namespace rb
