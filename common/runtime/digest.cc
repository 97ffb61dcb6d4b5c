#include "common/runtime/digest.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <array>

#include "common/base/result.h"

namespace rb {

std::string Sha256Hex(std::string_view data) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int bytes = 0;
  const int done =
      ::EVP_Digest(data.data(), data.size(), digest.data(), &bytes, ::EVP_sha256(), nullptr);
  RB_CHECK(done == 1);
  std::string text;
  text.reserve(std::size_t{bytes} * 2);
  for (unsigned int i = 0; i < bytes; ++i) {
    text += kDigits[digest[i] >> 4];
    text += kDigits[digest[i] & 0xF];
  }
  return text;
}

bool EqualDigest(std::string_view a, std::string_view b) {
  return a.size() == b.size() && ::CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace rb
