// What a send request moves: which kind of operation, and how many payload bytes. Pure.
//
// Threading: stateless.
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <cstdint>

#include "api/wire/pages.h"

namespace rb::shim {

struct Work {
  std::array<wire::OpCount, wire::kOpCount> ops{};

  std::uint64_t bytes() const {
    std::uint64_t sum = 0;
    for (const wire::OpCount& op : ops) sum += op.bytes;
    return sum;
  }
  void Add(wire::Op op, std::uint64_t messages, std::uint64_t bytes) {
    ops[static_cast<std::size_t>(op)].messages += messages;
    ops[static_cast<std::size_t>(op)].bytes += bytes;
  }
};

// Payload of one 64-bit atomic, whatever its scatter list says.
inline constexpr std::uint64_t kAtomicBytes = 8;

// Sums the list from `first` up to, not including, `end` (null: the whole list). Requests that move
// no payload (invalidate, bind) count nothing.
Work SumWork(const ibv_send_wr* first, const ibv_send_wr* end);

}  // namespace rb::shim
