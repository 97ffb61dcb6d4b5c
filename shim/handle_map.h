// Maps a uverbs object handle to one word: a region's bytes, or a queue's address.
//
// The kernel hands out the lowest free handles, so a two-level array stays small. Reading takes no
// lock: the data path looks its queues up here. Arrays are never freed, only cleared, because a
// reader may still be inside.
//
// Handles from kHandlesMax on are not kept: Set says so. Threading: safe.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rb::shim {

class HandleMap {
 public:
  static constexpr std::size_t kChunkHandles = 1024;
  static constexpr std::size_t kChunks = 1024;
  static constexpr std::size_t kHandlesMax = kChunkHandles * kChunks;

  // Stores a value; 0 means nothing. False when the handle is too large or memory ran out.
  bool Set(std::uint32_t handle, std::uint64_t value);

  // The value, or 0.
  std::uint64_t Get(std::uint32_t handle) const;

  // The value, or 0, and forgets it.
  std::uint64_t Take(std::uint32_t handle);

  // Forgets everything, calling `drop` (may be null) for each value.
  void Clear(void (*drop)(std::uint64_t value));

  // Clear, and gives the memory back. REQUIRES: nobody else uses the map.
  void Free(void (*drop)(std::uint64_t value));

 private:
  std::uint64_t* Cell(std::uint32_t handle) const;

  std::uint64_t** chunks_ = nullptr;
};

}  // namespace rb::shim
