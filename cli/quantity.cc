#include "cli/quantity.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>

namespace rb::cli {
namespace {

struct RateUnit {
  std::string_view name;
  std::uint64_t bits;
};

// The first that divides a rate formats it, so decimal bits come first: links are named so.
constexpr std::array kRateUnits{
    RateUnit{"Tbps", 1'000'000'000'000},
    RateUnit{"Gbps", 1'000'000'000},
    RateUnit{"Mbps", 1'000'000},
    RateUnit{"GiB/s", std::uint64_t{8} << 30},
    RateUnit{"MiB/s", std::uint64_t{8} << 20},
    RateUnit{"KiB/s", std::uint64_t{8} << 10},
    RateUnit{"kbps", 1'000},
    RateUnit{"bps", 1},
    RateUnit{"Tbit/s", 1'000'000'000'000},
    RateUnit{"Gbit/s", 1'000'000'000},
    RateUnit{"Mbit/s", 1'000'000},
    RateUnit{"kbit/s", 1'000},
    RateUnit{"bit/s", 1},
    RateUnit{"GB/s", 8'000'000'000},
    RateUnit{"MB/s", 8'000'000},
    RateUnit{"kB/s", 8'000},
    RateUnit{"KB/s", 8'000},
    RateUnit{"B/s", 8},
};

std::optional<std::uint64_t> TakeDigits(std::string_view* text, std::size_t* count) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc()) return std::nullopt;
  *count = static_cast<std::size_t>(end - text->data());
  text->remove_prefix(*count);
  return value;
}

// `value` * unit, or nothing when it does not fit.
std::optional<std::uint64_t> Multiply(std::uint64_t value, std::uint64_t unit) {
  if (value > std::numeric_limits<std::uint64_t>::max() / unit) return std::nullopt;
  return value * unit;
}

std::optional<std::uint64_t> BitRate(std::string_view text) {
  std::size_t digits = 0;
  const auto whole = TakeDigits(&text, &digits);
  if (!whole) return std::nullopt;
  std::uint64_t fraction = 0;
  std::uint64_t fraction_scale = 1;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    const auto parsed = TakeDigits(&text, &digits);
    if (!parsed || digits > 6) return std::nullopt;
    fraction = *parsed;
    for (std::size_t i = 0; i < digits; ++i) fraction_scale *= 10;
  }
  std::uint64_t unit = 1;
  if (!text.empty()) {
    const auto* const found = std::ranges::find(kRateUnits, text, &RateUnit::name);
    if (found == kRateUnits.end()) return std::nullopt;
    unit = found->bits;
  }
  const auto bits = Multiply(*whole, unit);
  // fraction < 10^6 and the largest unit is 10^12: the product fits.
  const std::uint64_t rest = fraction * unit / fraction_scale;
  if (!bits || *bits > std::numeric_limits<std::uint64_t>::max() - rest) return std::nullopt;
  return *bits + rest;
}

}  // namespace

Result<std::uint64_t> ParseBitRate(std::string_view text) {
  if (const auto bits = BitRate(text)) return *bits;
  return Fail(ErrorCode::kInvalid, "\"" + std::string(text) +
                                       "\" is not a rate like 10Gbps, 80Mbit/s, 20MiB/s, 20MB/s "
                                       "or a number of bits per second");
}

std::string FormatBitRate(std::uint64_t bits_per_second) {
  if (bits_per_second == 0) return "-";
  for (const RateUnit& unit : kRateUnits) {
    if (bits_per_second % unit.bits == 0) {
      return std::to_string(bits_per_second / unit.bits) + std::string(unit.name);
    }
  }
  return std::to_string(bits_per_second) + "bps";
}

Result<std::uint64_t> ParseCount(std::string_view text) {
  std::string_view rest = text;
  std::size_t digits = 0;
  const auto value = TakeDigits(&rest, &digits);
  if (value && rest.empty()) return *value;
  return Fail(ErrorCode::kInvalid, "\"" + std::string(text) + "\" is not a whole number");
}

}  // namespace rb::cli
