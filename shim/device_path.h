// Recognises the names of RDMA device nodes. Pure.
//
// "/dev/infiniband/uverbsN" and "/dev/char/MAJOR:MINOR" are ours to answer; everything else,
// umad, issm and rdma_cm included, is the kernel's. Repeated slashes and "." components are seen
// through; a relative path or a symbolic link is not, and meets the kernel's own refusal (a tenant
// has no nodes).
//
// Threading: stateless.
#pragma once

#include <cstdint>

#include "api/wire/frames.h"

namespace rb::shim {

enum class PathKind : std::uint8_t { kOther, kUverbs, kCharDevice };

struct DevicePath {
  PathKind kind = PathKind::kOther;
  wire::Text<wire::kNodeNameBytes> node{};  // kUverbs: "uverbs0"
  std::uint32_t major = 0;                  // kCharDevice
  std::uint32_t minor = 0;
};

// `path` may be null.
DevicePath ParseDevicePath(const char* path);

}  // namespace rb::shim
