// Random identifiers and secrets from the kernel (getrandom(2)).
#pragma once

#include <cstddef>
#include <string>

namespace rb {

// `bytes` random bytes in lower-case hexadecimal: fit for tokens and unique names.
std::string RandomHex(std::size_t bytes);

}  // namespace rb
