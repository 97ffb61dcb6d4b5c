#include "common/runtime/log.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace rb {
namespace {

// Every test leaves the process's log as it found it.
class LogTest : public ::testing::Test {
 protected:
  void SetUp() override { Restore(); }
  void TearDown() override { Restore(); }

  static void Restore() {
    ASSERT_TRUE(SetLogLevel("info"));
    ASSERT_TRUE(SetLogFormat("text"));
  }
};

// Times and numbers differ from run to run; their shape does not.
std::string WithoutDigits(std::string text) {
  std::ranges::replace_if(text, [](char c) { return c >= '0' && c <= '9'; }, '#');
  return text;
}

int Touch(int* count) { return ++*count; }

TEST_F(LogTest, ALineHasTimeLevelAndMessage) {
  ::testing::internal::CaptureStderr();

  RB_LOG_WARN("lease {} attached pid={}", "ab12", 4711);

  const std::string line = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(WithoutDigits(line), "####-##-##T##:##:##.###Z warn lease ab## attached pid=####\n");
}

TEST_F(LogTest, AValueCannotForgeALine) {
  ::testing::internal::CaptureStderr();

  RB_LOG_INFO("job {}", "x\n2026-01-01T00:00:00.000Z error forged\r\x1b[2J");

  const std::string text = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
  EXPECT_EQ(text.find('\r'), std::string::npos);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_NE(text.find("job x\\n2026-01-01"), std::string::npos) << text;
}

TEST_F(LogTest, JsonLinesAreWholeObjects) {
  ASSERT_TRUE(SetLogFormat("json"));
  ::testing::internal::CaptureStderr();

  RB_LOG_ERROR("name \"{}\"", "a\nb");

  const std::string line = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(WithoutDigits(line),
            R"({"time":"####-##-##T##:##:##.###Z","level":"error","message":"name \"a\nb\""})"
            "\n");
}

TEST_F(LogTest, LinesBelowTheLevelAreNotWrittenNorEvaluated) {
  ASSERT_TRUE(SetLogLevel("warn"));
  int count = 0;
  ::testing::internal::CaptureStderr();

  RB_LOG_DEBUG("{}", Touch(&count));
  RB_LOG_INFO("{}", Touch(&count));
  RB_LOG_WARN("{}", Touch(&count));

  const std::string text = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(count, 1);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
}

TEST_F(LogTest, OffWritesNothing) {
  ASSERT_TRUE(SetLogLevel("off"));
  ::testing::internal::CaptureStderr();

  RB_LOG_ERROR("x");

  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST_F(LogTest, DebugIsOnOnlyWhenAskedFor) {
  EXPECT_FALSE(LogEnabled(LogLevel::kDebug));

  ASSERT_TRUE(SetLogLevel("debug"));

  EXPECT_TRUE(LogEnabled(LogLevel::kDebug));
}

TEST_F(LogTest, UnknownNamesAreRefusedWithWhatIsAllowed) {
  const auto level = SetLogLevel("verbose");
  const auto format = SetLogFormat("xml");

  ASSERT_FALSE(level);
  EXPECT_EQ(level.error().message,
            "log level \"verbose\": allowed are debug, info, warn, error, off");
  ASSERT_FALSE(format);
  EXPECT_EQ(format.error().message, "log format \"xml\": allowed are text, json");
}

TEST(EscapeLogTextTest, IsReversibleAndKeepsText) {
  EXPECT_EQ(EscapeLogText("plain, caf\xC3\xA9"), "plain, caf\xC3\xA9");
  EXPECT_EQ(EscapeLogText("a\nb"), "a\\nb");
  // A literal backslash differs from an escape.
  EXPECT_EQ(EscapeLogText("a\\nb"), "a\\\\nb");
  EXPECT_EQ(EscapeLogText("\x1b[31m\x7f"), "\\x1b[31m\\x7f");
}

TEST(EscapeLogTextTest, EscapesC1ControlsAndBytesThatAreNoUtf8) {
  EXPECT_EQ(EscapeLogText("\xC2\x9B"), "\\xc2\\x9b");  // CSI in one character
  EXPECT_EQ(EscapeLogText("\xC2\xA0"), "\xC2\xA0");
  EXPECT_EQ(EscapeLogText("a\xFFz"), "a\\xffz");
}

}  // namespace
}  // namespace rb
