#include "common/base/random.h"

#include <sys/random.h>

#include <array>
#include <cerrno>

#include "common/base/result.h"

namespace rb {

std::string RandomHex(std::size_t bytes) {
  static constexpr std::array<char, 17> kDigits{"0123456789abcdef"};
  std::string raw(bytes, '\0');
  std::size_t filled = 0;
  while (filled < bytes) {
    const ssize_t got = ::getrandom(raw.data() + filled, bytes - filled, 0);
    RB_CHECK(got >= 0 || errno == EINTR);
    if (got > 0) filled += static_cast<std::size_t>(got);
  }
  std::string text;
  text.reserve(bytes * 2);
  for (const char c : raw) {
    const auto byte = static_cast<unsigned char>(c);
    text += kDigits[byte >> 4];
    text += kDigits[byte & 0xF];
  }
  return text;
}

}  // namespace rb
