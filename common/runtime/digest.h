// SHA-256 and comparison of secrets, on OpenSSL. Threading: stateless.
#pragma once

#include <string>
#include <string_view>

namespace rb {

// 64 lower-case hexadecimal digits.
std::string Sha256Hex(std::string_view data);

// Equality in a time that depends only on the lengths.
bool EqualDigest(std::string_view a, std::string_view b);

}  // namespace rb
