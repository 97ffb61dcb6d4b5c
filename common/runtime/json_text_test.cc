#include "common/runtime/json_text.h"

#include <gtest/gtest.h>

namespace rb {
namespace {

TEST(QuoteJsonTest, EscapesWhatJsonRequires) {
  EXPECT_EQ(QuoteJson("plain"), R"("plain")");
  EXPECT_EQ(QuoteJson("a\"b\\c"), R"("a\"b\\c")");
  EXPECT_EQ(QuoteJson("\n\r\t\x01\x7f"), R"("\n\r\t\u0001\u007f")");
  EXPECT_EQ(QuoteJson(std::string_view("\0", 1)), R"("\u0000")");
}

TEST(QuoteJsonTest, KeepsUtf8AndReplacesOtherBytes) {
  EXPECT_EQ(QuoteJson("\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"),
            "\"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\"");
  EXPECT_EQ(QuoteJson("a\xFFz"), "\"a\xEF\xBF\xBDz\"");
}

TEST(Utf8LengthTest, AcceptsTheEdgesOfEachLength) {
  EXPECT_EQ(Utf8Length("\x7F"), 1U);
  EXPECT_EQ(Utf8Length("\xC2\x80"), 2U);
  EXPECT_EQ(Utf8Length("\xDF\xBF"), 2U);
  EXPECT_EQ(Utf8Length("\xE0\xA0\x80"), 3U);
  EXPECT_EQ(Utf8Length("\xEF\xBF\xBF"), 3U);
  EXPECT_EQ(Utf8Length("\xF0\x90\x80\x80"), 4U);
  EXPECT_EQ(Utf8Length("\xF4\x8F\xBF\xBF"), 4U);
}

TEST(Utf8LengthTest, RefusesOverlongSurrogateTruncatedAndTooLarge) {
  EXPECT_EQ(Utf8Length(""), 0U);
  EXPECT_EQ(Utf8Length("\x80"), 0U);
  EXPECT_EQ(Utf8Length("\xC0\x80"), 0U);
  EXPECT_EQ(Utf8Length("\xE0\x80\x80"), 0U);
  EXPECT_EQ(Utf8Length("\xED\xA0\x80"), 0U);
  EXPECT_EQ(Utf8Length("\xF4\x90\x80\x80"), 0U);
  EXPECT_EQ(Utf8Length("\xE2\x82"), 0U);
  EXPECT_EQ(Utf8Length("\xE2\x82x"), 0U);
}

}  // namespace
}  // namespace rb
