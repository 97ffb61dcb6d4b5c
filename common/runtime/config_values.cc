// Values as text and back: durations, byte sizes, integers, booleans.
#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>

#include "common/runtime/config.h"

namespace rb {
namespace {

struct Unit {
  std::string_view name;
  std::uint64_t factor;
};

constexpr std::uint64_t kMicro = 1000;
constexpr std::uint64_t kSecond = 1'000'000'000;

// Largest first: the first that divides a value formats it.
constexpr std::array<Unit, 7> kDurationUnits{{{"d", 86'400 * kSecond},
                                              {"h", 3'600 * kSecond},
                                              {"m", 60 * kSecond},
                                              {"s", kSecond},
                                              {"ms", kMicro* kMicro},
                                              {"us", kMicro},
                                              {"ns", 1}}};
constexpr std::array<Unit, 4> kBinaryUnits{{{"TiB", std::uint64_t{1} << 40},
                                            {"GiB", std::uint64_t{1} << 30},
                                            {"MiB", std::uint64_t{1} << 20},
                                            {"KiB", std::uint64_t{1} << 10}}};
constexpr std::array<Unit, 5> kDecimalUnits{
    {{"TB", 1'000'000'000'000}, {"GB", 1'000'000'000}, {"MB", 1'000'000}, {"KB", 1'000}, {"B", 1}}};

// The leading digits of `text`, removed from it. Nullopt: none, or too large.
std::optional<std::uint64_t> TakeNumber(std::string_view* text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc()) return std::nullopt;
  text->remove_prefix(static_cast<std::size_t>(end - text->data()));
  return value;
}

template <std::size_t n>
std::optional<std::uint64_t> Scale(std::uint64_t value, std::string_view unit,
                                   const std::array<Unit, n>& units, std::uint64_t max) {
  const auto* const found =
      std::ranges::find_if(units, [&](const Unit& u) { return u.name == unit; });
  if (found == units.end() || value > max / found->factor) return std::nullopt;
  return value * found->factor;
}

template <std::size_t n>
std::string FormatWith(std::uint64_t value, const std::array<Unit, n>& units,
                       std::string_view zero) {
  if (value == 0) return std::string(zero);
  for (const Unit& unit : units) {
    if (value % unit.factor == 0) {
      return std::to_string(value / unit.factor) + std::string(unit.name);
    }
  }
  return std::to_string(value);
}

}  // namespace

Result<std::uint64_t> ParseBytes(std::string_view text) {
  constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();
  std::string_view rest = text;
  if (const auto value = TakeNumber(&rest)) {
    if (rest.empty()) return *value;
    if (const auto bytes = Scale(*value, rest, kBinaryUnits, kMax)) return *bytes;
    if (const auto bytes = Scale(*value, rest, kDecimalUnits, kMax)) return *bytes;
  }
  return Fail(ErrorCode::kInvalid,
              "\"" + std::string(text) + "\" is not a size like 4096, 64KiB, 2GiB or 10MB");
}

std::string FormatBytes(std::uint64_t bytes) { return FormatWith(bytes, kBinaryUnits, "0"); }

Result<std::chrono::nanoseconds> ParseDuration(std::string_view text) {
  constexpr auto kMax = static_cast<std::uint64_t>(std::chrono::nanoseconds::max().count());
  std::string_view rest = text;
  if (const auto value = TakeNumber(&rest)) {
    if (*value == 0 && rest.empty()) return std::chrono::nanoseconds(0);
    if (const auto count = Scale(*value, rest, kDurationUnits, kMax)) {
      return std::chrono::nanoseconds(static_cast<std::int64_t>(*count));
    }
  }
  return Fail(ErrorCode::kInvalid,
              "\"" + std::string(text) + "\" is not a duration like 250us, 50ms, 5s, 2m, 1h or 7d");
}

std::string FormatDuration(std::chrono::nanoseconds duration) {
  RB_CHECK(duration.count() >= 0);
  return FormatWith(static_cast<std::uint64_t>(duration.count()), kDurationUnits, "0s");
}

}  // namespace rb
