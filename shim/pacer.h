// Paces a device of a lease: GCRA (the virtual form of a leaky bucket) over one shared 64-bit time.
//
// `arrival_ns` is the time at which all bytes charged so far would have left at the lease's rate.
// A request may go while that lies at most burst/rate in the future. All processes of the lease
// share the word; a post that has room costs one compare-and-swap and no system call.
//
// A request larger than the burst goes when the bucket is full and is charged whole: the next one
// pays the debt. Nothing is ever split.
//
// Pure but for the page. Threading: safe, also between processes.
#pragma once

#include <cstdint>

#include "api/wire/pages.h"

namespace rb::shim {

// Charges `bytes` and returns 0 when they may go at `now_ns`; otherwise changes nothing and returns
// how many ns to wait before asking again. REQUIRES: rate.rate_bytes_per_second > 0.
std::uint64_t TryPass(wire::PaceBucket* bucket, const wire::DeviceRate& rate, std::uint64_t bytes,
                      std::uint64_t now_ns);

// Charges `bytes` that are already on their way, whatever the bucket says.
void ChargePassed(wire::PaceBucket* bucket, const wire::DeviceRate& rate, std::uint64_t bytes,
                  std::uint64_t now_ns);

// Takes back a charge for bytes that did not go after all (the provider refused the request).
void Refund(wire::PaceBucket* bucket, const wire::DeviceRate& rate, std::uint64_t bytes);

}  // namespace rb::shim
