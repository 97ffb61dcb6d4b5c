#include "shim/pacer.h"

namespace rb::shim {
namespace {

constexpr double kNsPerSecond = 1e9;
constexpr double kNsMax = 9e18;  // about 285 years: fits 63 bits

// Doubles instead of 128-bit integers, whose division would pull in a libgcc function. Rounded up:
// a rounding error must never give more than the rate.
std::uint64_t Duration(std::uint64_t bytes, std::uint64_t bytes_per_second) {
  const double ns =
      static_cast<double>(bytes) * kNsPerSecond / static_cast<double>(bytes_per_second);
  if (ns >= kNsMax) return static_cast<std::uint64_t>(kNsMax);
  const auto whole = static_cast<std::uint64_t>(ns);
  return static_cast<double>(whole) < ns ? whole + 1 : whole;
}

// A debt is bytes, but the word is time: after a PATCH the same bytes are another time. Whoever
// sees the new rate first converts; a charge that slips in between is converted too, which errs by
// one request.
void Rescale(wire::PaceBucket* bucket, const wire::DeviceRate& rate, std::uint64_t now_ns) {
  std::uint64_t old_rate = wire::Load(bucket->rate_bytes_per_second);
  if (old_rate == rate.rate_bytes_per_second) return;
  if (!wire::CompareExchange(&bucket->rate_bytes_per_second, &old_rate,
                             rate.rate_bytes_per_second)) {
    return;
  }
  if (old_rate == 0) return;
  std::uint64_t arrival = wire::Load(bucket->arrival_ns);
  while (arrival > now_ns) {
    const double debt = static_cast<double>(arrival - now_ns) * static_cast<double>(old_rate) /
                        static_cast<double>(rate.rate_bytes_per_second);
    const auto debt_ns = static_cast<std::uint64_t>(debt < kNsMax ? debt : kNsMax);
    if (wire::CompareExchange(&bucket->arrival_ns, &arrival, now_ns + debt_ns)) return;
  }
}

}  // namespace

std::uint64_t TryPass(wire::PaceBucket* bucket, const wire::DeviceRate& rate, std::uint64_t bytes,
                      std::uint64_t now_ns) {
  Rescale(bucket, rate, now_ns);
  const std::uint64_t cost = Duration(bytes, rate.rate_bytes_per_second);
  const std::uint64_t tolerance = Duration(rate.burst_bytes, rate.rate_bytes_per_second);
  // A request above the burst needs the whole bucket, not more than there is.
  const std::uint64_t needed = cost < tolerance ? cost : tolerance;
  std::uint64_t arrival = wire::Load(bucket->arrival_ns);
  while (true) {
    const std::uint64_t start = arrival > now_ns ? arrival : now_ns;
    const std::uint64_t ahead = start - now_ns + needed;
    if (ahead > tolerance) return ahead - tolerance;
    if (wire::CompareExchange(&bucket->arrival_ns, &arrival, start + cost)) return 0;
  }
}

void ChargePassed(wire::PaceBucket* bucket, const wire::DeviceRate& rate, std::uint64_t bytes,
                  std::uint64_t now_ns) {
  Rescale(bucket, rate, now_ns);
  const std::uint64_t cost = Duration(bytes, rate.rate_bytes_per_second);
  std::uint64_t arrival = wire::Load(bucket->arrival_ns);
  while (true) {
    const std::uint64_t start = arrival > now_ns ? arrival : now_ns;
    if (wire::CompareExchange(&bucket->arrival_ns, &arrival, start + cost)) return;
  }
}

void Refund(wire::PaceBucket* bucket, const wire::DeviceRate& rate, std::uint64_t bytes) {
  const std::uint64_t cost = Duration(bytes, rate.rate_bytes_per_second);
  std::uint64_t arrival = wire::Load(bucket->arrival_ns);
  while (arrival >= cost) {
    if (wire::CompareExchange(&bucket->arrival_ns, &arrival, arrival - cost)) return;
  }
}

}  // namespace rb::shim
