// Upper bounds of everything on the agent's tenant socket and in the shared pages.
// Each has a test at the limit and one past it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rb::wire {

inline constexpr std::size_t kFrameBytesMax = 4096;
inline constexpr std::size_t kDeviceNameBytes = 64;  // IB_DEVICE_NAME_MAX in the kernel
inline constexpr std::size_t kNodeNameBytes = 32;    // "uverbs0"
inline constexpr std::size_t kLeaseIdBytes = 48;     // "lease-" + 16 hex digits, with room
inline constexpr std::size_t kTenantBytes = 64;
inline constexpr std::size_t kTokenBytes = 96;  // "rbl_" + 64 hex digits, with room
inline constexpr std::size_t kErrorTextBytes = 256;
inline constexpr std::size_t kReasonBytes = 32;
inline constexpr std::size_t kLeaseDevicesMax = 16;
inline constexpr std::size_t kPageLimits = 32;  // room in the pages for limits yet to come
inline constexpr std::size_t kSlotsMax =
    1024;  // uverbs files of one lease that can be open at once

// A call to the agent that takes longer fails with ETIMEDOUT instead of hanging the application.
inline constexpr std::uint32_t kCallTimeoutMs = 2000;

}  // namespace rb::wire
