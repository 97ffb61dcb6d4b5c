#include "cli/quantity.h"

#include <gtest/gtest.h>

namespace rb::cli {
namespace {

TEST(ParseBitRateTest, KnowsBitsAndBytesDecimalAndBinary) {
  for (const auto& [text, bits] : std::vector<std::pair<std::string, std::uint64_t>>{
           {"0", 0},
           {"80000000", 80'000'000},
           {"8bps", 8},
           {"10Gbps", 10'000'000'000},
           {"10Gbit/s", 10'000'000'000},
           {"1.6Tbps", 1'600'000'000'000},
           {"2.5Gbps", 2'500'000'000},
           {"0.5kbps", 500},
           {"1.000001Mbps", 1'000'001},
           {"20MiB/s", 167'772'160},
           {"20MB/s", 160'000'000},
           {"1KiB/s", 8192},
           {"1kB/s", 8000},
           {"3B/s", 24},
           {"18446744073709551615", 18446744073709551615U}}) {
    const auto parsed = ParseBitRate(text);
    ASSERT_TRUE(parsed) << text;
    EXPECT_EQ(*parsed, bits) << text;
  }
}

TEST(ParseBitRateTest, RefusesEverythingElse) {
  for (const std::string text :
       {"", "Gbps", "-1Gbps", "+1Gbps", "1 Gbps", "1gbps", "1G", "1MiB", "1.Gbps", ".5Gbps",
        "1.0000001Gbps", "1e9", "1.2.3Gbps", "18446744073709551616", "18446744073709551615Gbps",
        "2305843009213693952B/s", "0x10", "1Gbps "}) {
    const auto parsed = ParseBitRate(text);
    ASSERT_FALSE(parsed) << text << " = " << *parsed;
    EXPECT_EQ(parsed.error().code, ErrorCode::kInvalid);
  }
}

TEST(FormatBitRateTest, IsReadBackExactly) {
  EXPECT_EQ(FormatBitRate(0), "-");
  EXPECT_EQ(FormatBitRate(10'000'000'000), "10Gbps");
  EXPECT_EQ(FormatBitRate(167'772'160), "20MiB/s");
  EXPECT_EQ(FormatBitRate(8192), "1KiB/s");
  EXPECT_EQ(FormatBitRate(8001), "8001bps");
  for (const std::uint64_t bits : {1ULL, 999ULL, 25'000'000'000ULL, 18446744073709551615ULL}) {
    EXPECT_EQ(*ParseBitRate(FormatBitRate(bits)), bits);
  }
}

TEST(ParseCountTest, TakesWholeNumbersOnly) {
  EXPECT_EQ(*ParseCount("0"), 0U);
  EXPECT_EQ(*ParseCount("4096"), 4096U);
  for (const std::string text : {"", "-1", "1.5", "4k", " 4", "18446744073709551616"}) {
    EXPECT_FALSE(ParseCount(text)) << text;
  }
}

}  // namespace
}  // namespace rb::cli
