#include "shim/device_path.h"

#include <cstring>

namespace rb::shim {
namespace {

constexpr const char* kNodePrefix = "uverbs";
constexpr std::size_t kNodePrefixBytes = 6;

// Skips slashes and "." components.
const char* SkipSeparators(const char* at) {
  while (true) {
    if (*at == '/') {
      ++at;
    } else if (at[0] == '.' && at[1] == '/') {
      at += 2;
    } else {
      return at;
    }
  }
}

// What follows the component `name` and its slash; null when `at` does not start with it.
const char* Enter(const char* at, const char* name) {
  const std::size_t length = std::strlen(name);
  if (std::strncmp(at, name, length) != 0 || at[length] != '/') return nullptr;
  return SkipSeparators(at + length);
}

// Reads a decimal number; null when there is none or it does not fit.
const char* ReadNumber(const char* at, std::uint32_t* number) {
  std::uint64_t value = 0;
  const char* start = at;
  for (; *at >= '0' && *at <= '9'; ++at) {
    value = (value * 10) + static_cast<std::uint64_t>(*at - '0');
    if (value > 0xffffffffU) return nullptr;
  }
  *number = static_cast<std::uint32_t>(value);
  return at == start ? nullptr : at;
}

void ParseNode(const char* at, DevicePath* path) {
  if (std::strncmp(at, kNodePrefix, kNodePrefixBytes) != 0) return;
  std::uint32_t number = 0;
  const char* end = ReadNumber(at + kNodePrefixBytes, &number);
  if (end == nullptr || *end != '\0') return;
  const auto length = static_cast<std::size_t>(end - at);
  if (length >= path->node.size()) return;
  std::memcpy(path->node.data(), at, length);
  path->kind = PathKind::kUverbs;
}

void ParseNumbers(const char* at, DevicePath* path) {
  at = ReadNumber(at, &path->major);
  if (at == nullptr || *at != ':') return;
  at = ReadNumber(at + 1, &path->minor);
  if (at == nullptr || *at != '\0') return;
  path->kind = PathKind::kCharDevice;
}

}  // namespace

DevicePath ParseDevicePath(const char* path) {
  DevicePath parsed;
  if (path == nullptr || *path != '/') return parsed;
  const char* in_dev = Enter(SkipSeparators(path), "dev");
  if (in_dev == nullptr) return parsed;
  if (const char* at = Enter(in_dev, "infiniband")) {
    ParseNode(at, &parsed);
  } else if (const char* number = Enter(in_dev, "char")) {
    ParseNumbers(number, &parsed);
  }
  return parsed;
}

}  // namespace rb::shim
