// The time, behind a port so that tests own it.
//
// Leases run on boot time (CLOCK_BOOTTIME): it counts while the machine sleeps and no one can set
// it. Wall time is for people: it is shown, never compared.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace rb {

// Nanoseconds since boot, suspend included.
using BootTime = std::chrono::nanoseconds;

class Clock {
 public:
  virtual ~Clock() = default;
  virtual BootTime Boot() const = 0;
  virtual std::chrono::system_clock::time_point Wall() const = 0;
};

// The kernel's clocks. Threading: stateless.
class SystemClock final : public Clock {
 public:
  BootTime Boot() const override;
  std::chrono::system_clock::time_point Wall() const override;
};

// "2026-12-01T10:46:57Z" (RFC 3339, UTC, whole seconds).
std::string FormatTimestamp(std::chrono::system_clock::time_point time);

}  // namespace rb
