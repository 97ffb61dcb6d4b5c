#include "shim/handle_map.h"

#include <cstdlib>

namespace rb::shim {
namespace {

// The array that `*place` points to, made when there is none. Two threads may race: one array wins.
template <typename T>
T* Ensure(T** place, std::size_t count) {
  T* found = __atomic_load_n(place, __ATOMIC_ACQUIRE);
  if (found != nullptr) return found;
  T* made = static_cast<T*>(std::calloc(count, sizeof(T)));
  if (made == nullptr) return nullptr;
  if (__atomic_compare_exchange_n(place, &found, made, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
    return made;
  }
  std::free(static_cast<void*>(made));
  return found;
}

}  // namespace

std::uint64_t* HandleMap::Cell(std::uint32_t handle) const {
  if (handle >= kHandlesMax) return nullptr;
  std::uint64_t** chunks = __atomic_load_n(&chunks_, __ATOMIC_ACQUIRE);
  if (chunks == nullptr) return nullptr;
  std::uint64_t* chunk = __atomic_load_n(&chunks[handle / kChunkHandles], __ATOMIC_ACQUIRE);
  return chunk == nullptr ? nullptr : &chunk[handle % kChunkHandles];
}

bool HandleMap::Set(std::uint32_t handle, std::uint64_t value) {
  if (handle >= kHandlesMax) return false;
  std::uint64_t** chunks = Ensure(&chunks_, kChunks);
  if (chunks == nullptr) return false;
  std::uint64_t* chunk = Ensure(&chunks[handle / kChunkHandles], kChunkHandles);
  if (chunk == nullptr) return false;
  __atomic_store_n(&chunk[handle % kChunkHandles], value, __ATOMIC_RELEASE);
  return true;
}

std::uint64_t HandleMap::Get(std::uint32_t handle) const {
  const std::uint64_t* cell = Cell(handle);
  return cell == nullptr ? 0 : __atomic_load_n(cell, __ATOMIC_ACQUIRE);
}

std::uint64_t HandleMap::Take(std::uint32_t handle) {
  std::uint64_t* cell = Cell(handle);
  return cell == nullptr ? 0 : __atomic_exchange_n(cell, 0, __ATOMIC_ACQ_REL);
}

void HandleMap::Clear(void (*drop)(std::uint64_t value)) {
  std::uint64_t** chunks = __atomic_load_n(&chunks_, __ATOMIC_ACQUIRE);
  if (chunks == nullptr) return;
  for (std::size_t i = 0; i < kChunks; ++i) {
    std::uint64_t* chunk = __atomic_load_n(&chunks[i], __ATOMIC_ACQUIRE);
    if (chunk == nullptr) continue;
    for (std::size_t j = 0; j < kChunkHandles; ++j) {
      const std::uint64_t value = __atomic_exchange_n(&chunk[j], 0, __ATOMIC_ACQ_REL);
      if (value != 0 && drop != nullptr) drop(value);
    }
  }
}

void HandleMap::Free(void (*drop)(std::uint64_t value)) {
  Clear(drop);
  if (chunks_ == nullptr) return;
  for (std::size_t i = 0; i < kChunks; ++i) std::free(chunks_[i]);
  std::free(static_cast<void*>(chunks_));
  chunks_ = nullptr;
}

}  // namespace rb::shim
