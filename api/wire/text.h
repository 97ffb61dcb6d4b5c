// NUL-padded text fields of frames, without std::string (shim-safe).
#pragma once

#include <cstddef>
#include <cstring>

#include "api/wire/frames.h"

namespace rb::wire {

// Copies at most N-1 bytes of `from` and pads with NUL. Returns false when it did not fit whole.
template <std::size_t N>
bool SetText(Text<N>* to, const char* from) {
  const std::size_t length = std::strlen(from);
  to->fill('\0');
  std::memcpy(to->data(), from, length < N ? length : N - 1);
  return length < N;
}

// True when there is a NUL and nothing but NUL after it: then data() is a C string.
template <std::size_t N>
bool IsText(const Text<N>& text) {
  const void* end = std::memchr(text.data(), '\0', N);
  if (end == nullptr) return false;
  for (const char* at = static_cast<const char*>(end); at < text.data() + N; ++at) {
    if (*at != '\0') return false;
  }
  return true;
}

}  // namespace rb::wire
