#include "api/wire/text.h"

#include <gtest/gtest.h>

#include <string>

namespace rb::wire {
namespace {

TEST(TextTest, KeepsATextThatFitsWithItsNul) {
  Text<8> text;

  EXPECT_TRUE(SetText(&text, "1234567"));

  EXPECT_STREQ(text.data(), "1234567");
  EXPECT_TRUE(IsText(text));
}

TEST(TextTest, SaysWhenATextWasCut) {
  Text<8> text;

  EXPECT_FALSE(SetText(&text, "12345678"));

  EXPECT_STREQ(text.data(), "1234567");
}

TEST(TextTest, RefusesAFieldWithoutNul) {
  Text<4> text{'a', 'b', 'c', 'd'};

  EXPECT_FALSE(IsText(text));
}

TEST(TextTest, RefusesBytesBehindTheNul) {
  Text<4> text{'a', '\0', 'c', '\0'};

  EXPECT_FALSE(IsText(text));
}

}  // namespace
}  // namespace rb::wire
