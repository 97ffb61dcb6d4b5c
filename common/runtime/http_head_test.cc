#include "common/runtime/http_head.h"

#include <gtest/gtest.h>

#include <string>

namespace rb {
namespace {

HeadState ScanOnce(std::string_view data) {
  HeadScanner scanner;
  return scanner.Scan(data);
}

TEST(HeadScannerTest, FindsTheEndAndLeavesTheBody) {
  HeadScanner scanner;

  EXPECT_EQ(scanner.Scan("GET / HTTP/1.1\r\nHost: a\r\n\r\nbody\n"), HeadState::kComplete);

  EXPECT_EQ(scanner.head_bytes(), 27U);
}

TEST(HeadScannerTest, FindsTheSameEndByteByByte) {
  const std::string data = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
  HeadScanner scanner;

  for (std::size_t i = 0; i < data.size(); ++i) {
    ASSERT_EQ(scanner.Scan(std::string_view(data).substr(0, i)), HeadState::kIncomplete) << i;
  }

  EXPECT_EQ(scanner.Scan(data), HeadState::kComplete);
  EXPECT_EQ(scanner.head_bytes(), data.size());
}

TEST(HeadScannerTest, AnEmptyLineIsAHeadOfTwoBytes) {
  HeadScanner scanner;

  EXPECT_EQ(scanner.Scan("\r\nGET"), HeadState::kComplete);

  EXPECT_EQ(scanner.head_bytes(), 2U);
}

TEST(HeadScannerTest, RefusesWhatParsersDisagreeAbout) {
  EXPECT_EQ(ScanOnce("GET / HTTP/1.1\n"), HeadState::kBroken);
  EXPECT_EQ(ScanOnce("GET / HTTP/1.1\r\nA: b\n\r\n"), HeadState::kBroken);
  EXPECT_EQ(ScanOnce("GET / HTTP/1.1\r\nA: b\r\n c\r\n"), HeadState::kBroken);
  EXPECT_EQ(ScanOnce("GET / HTTP/1.1\r\nA: b\r\n\tc\r\n"), HeadState::kBroken);
  EXPECT_EQ(ScanOnce("GET / HTTP/1.1\r\nA: b\rc"), HeadState::kBroken);
  EXPECT_EQ(ScanOnce(std::string_view("GET \0", 5)), HeadState::kBroken);
  EXPECT_EQ(ScanOnce(" GET / HTTP/1.1\r\n"), HeadState::kBroken);
}

TEST(HeadScannerTest, StaysBrokenAndSaysWhy) {
  HeadScanner scanner;
  ASSERT_EQ(scanner.Scan("GET\n"), HeadState::kBroken);

  EXPECT_EQ(scanner.Scan("GET\n\r\n\r\n"), HeadState::kBroken);

  EXPECT_EQ(scanner.problem(), "a line feed without carriage return");
}

TEST(HeadScannerTest, ACarriageReturnAtTheEndWaitsForItsLineFeed) {
  HeadScanner scanner;

  EXPECT_EQ(scanner.Scan("GET\r"), HeadState::kIncomplete);
  EXPECT_EQ(scanner.Scan("GET\r\n"), HeadState::kIncomplete);
  EXPECT_EQ(scanner.Scan("GET\r\n\r\n"), HeadState::kComplete);
}

}  // namespace
}  // namespace rb
