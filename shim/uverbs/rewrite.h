// Changes to a call before the kernel sees it: the lease's traffic class in address vectors, and
// the DEVX flag taken out of a context request. Pure; works on a copy, never on the application's
// buffer, which it may use again.
//
// Threading: stateless. Ownership: a CallCopy holds its own copies and borrows the rest.
#pragma once

#include <cstddef>
#include <cstdint>

#include "shim/uverbs/decode.h"

namespace rb::shim {

struct ClassRule {
  bool set = false;     // the lease has a traffic class
  bool refuse = false;  // another class is an error rather than rewritten
  std::uint8_t traffic_class = 0;
  std::uint8_t sl = 0;
};

enum class ClassVerdict : std::uint8_t { kAsIs, kRewrite, kRefuse };

// Looks at the address vectors of a MODIFY_QP (plain or extended) or CREATE_AH request in `core_in`
// and, with `change`, writes the lease's class into them. Vectors without a global route carry no
// traffic class and are left alone.
ClassVerdict ApplyClass(const VerbRow& row, const Bytes& core_in, const ClassRule& rule,
                        bool change);

// mlx5's GET_CONTEXT: true when the request asks for DEVX; with `change`, takes the wish out.
bool StripDevx(const Bytes& uhw_in, bool change);

// A copy of a call in which one input attribute is replaced by a changeable copy of its bytes.
class CallCopy {
 public:
  static constexpr std::size_t kCopyAttrsMax = 32;
  static constexpr std::size_t kCopyBytesMax = 1024;

  // Copies `header` and the bytes of attribute `id`. False when there is no such attribute or the
  // call is larger than any that libibverbs makes.
  bool Make(const ib_uverbs_ioctl_hdr& header, std::uint16_t id);

  // Give this to the kernel instead of the original.
  ib_uverbs_ioctl_hdr* header() { return reinterpret_cast<ib_uverbs_ioctl_hdr*>(&frame_); }
  Bytes bytes() { return {.data = bytes_, .size = size_}; }

  // Brings what the kernel wrote into the attributes (flags, new handles) back to the original.
  void CopyBack(ib_uverbs_ioctl_hdr* original) const;

 private:
  struct Frame {
    std::uint64_t header[sizeof(ib_uverbs_ioctl_hdr) / 8];  // NOLINT(modernize-avoid-c-arrays)
    ib_uverbs_attr attrs[kCopyAttrsMax];                    // NOLINT(modernize-avoid-c-arrays)
  };

  Frame frame_{};
  std::uint16_t replaced_ = 0;                      // index of the replaced attribute
  alignas(8) std::uint8_t bytes_[kCopyBytesMax]{};  // NOLINT(modernize-avoid-c-arrays)
  std::size_t size_ = 0;
};

}  // namespace rb::shim
