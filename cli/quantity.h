// Quantities as people write them, and back. Sizes and durations are in common/runtime/config.h.
//
// Threading: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/result.h"

namespace rb::cli {

// Bits per second: "10Gbps" or "10Gbit/s" (decimal, bits), "20MB/s" (decimal, bytes), "20MiB/s"
// (binary, bytes), or a bare number of bits. A decimal fraction ("2.5Gbps") may have 6 digits; less
// than a bit is dropped. Errors: kInvalid, naming what is allowed.
Result<std::uint64_t> ParseBitRate(std::string_view text);

// "10Gbps", "20MiB/s" or "1234bps": the shortest of the above that is exact; "-" for 0.
std::string FormatBitRate(std::uint64_t bits_per_second);

// A plain decimal number. Errors: kInvalid.
Result<std::uint64_t> ParseCount(std::string_view text);

}  // namespace rb::cli
