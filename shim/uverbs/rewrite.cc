#include "shim/uverbs/rewrite.h"

#include <rdma/mlx5-abi.h>

#include <cstring>

namespace rb::shim {
namespace {

constexpr std::uint32_t kMaskAv = 1U << 7;        // IB_QP_AV
constexpr std::uint32_t kMaskAltPath = 1U << 14;  // IB_QP_ALT_PATH

// Where one address vector keeps its class: offsets from the start of the request.
struct VectorAt {
  std::size_t traffic_class;
  std::size_t sl;
  std::size_t is_global;
};

constexpr VectorAt DestAt(std::size_t base) {
  return {.traffic_class = base + offsetof(ib_uverbs_qp_dest, traffic_class),
          .sl = base + offsetof(ib_uverbs_qp_dest, sl),
          .is_global = base + offsetof(ib_uverbs_qp_dest, is_global)};
}

constexpr VectorAt kDest = DestAt(offsetof(ib_uverbs_modify_qp, dest));
constexpr VectorAt kAltDest = DestAt(offsetof(ib_uverbs_modify_qp, alt_dest));
constexpr std::size_t kAhBase = offsetof(ib_uverbs_create_ah, attr);
constexpr VectorAt kAh{.traffic_class = kAhBase + offsetof(ib_uverbs_ah_attr, grh) +
                                        offsetof(ib_uverbs_global_route, traffic_class),
                       .sl = kAhBase + offsetof(ib_uverbs_ah_attr, sl),
                       .is_global = kAhBase + offsetof(ib_uverbs_ah_attr, is_global)};

ClassVerdict ApplyToVector(const Bytes& core_in, const VectorAt& at, const ClassRule& rule,
                           bool change) {
  if (core_in.size <= at.traffic_class || core_in.size <= at.sl || core_in.size <= at.is_global) {
    return ClassVerdict::kAsIs;
  }
  if (core_in.data[at.is_global] == 0) return ClassVerdict::kAsIs;
  std::uint8_t& traffic_class = core_in.data[at.traffic_class];
  std::uint8_t& sl = core_in.data[at.sl];
  if (traffic_class == rule.traffic_class && sl == rule.sl) return ClassVerdict::kAsIs;
  if (rule.refuse) return ClassVerdict::kRefuse;
  if (change) {
    traffic_class = rule.traffic_class;
    sl = rule.sl;
  }
  return ClassVerdict::kRewrite;
}

ClassVerdict Worse(ClassVerdict a, ClassVerdict b) { return a < b ? b : a; }

}  // namespace

ClassVerdict ApplyClass(const VerbRow& row, const Bytes& core_in, const ClassRule& rule,
                        bool change) {
  if (!rule.set || (row.traits & kTraitClass) == 0) return ClassVerdict::kAsIs;
  if (row.action != Action::kModifyQp) return ApplyToVector(core_in, kAh, rule, change);

  std::uint32_t mask = 0;
  if (!ReadU32(core_in, offsetof(ib_uverbs_modify_qp, attr_mask), &mask)) {
    return ClassVerdict::kAsIs;
  }
  ClassVerdict verdict = ClassVerdict::kAsIs;
  if ((mask & kMaskAv) != 0) verdict = ApplyToVector(core_in, kDest, rule, change);
  if ((mask & kMaskAltPath) != 0) {
    verdict = Worse(verdict, ApplyToVector(core_in, kAltDest, rule, change));
  }
  return verdict;
}

bool StripDevx(const Bytes& uhw_in, bool change) {
  constexpr std::size_t kFlagsAt = offsetof(mlx5_ib_alloc_ucontext_req_v2, flags);
  std::uint32_t flags = 0;
  if (!ReadU32(uhw_in, kFlagsAt, &flags)) return false;  // the short first version has no flags
  if ((flags & MLX5_IB_ALLOC_UCTX_DEVX) == 0) return false;
  if (change) {
    flags &= ~std::uint32_t{MLX5_IB_ALLOC_UCTX_DEVX};
    std::memcpy(uhw_in.data + kFlagsAt, &flags, sizeof(flags));
  }
  return true;
}

bool CallCopy::Make(const ib_uverbs_ioctl_hdr& header, std::uint16_t id) {
  if (header.num_attrs > kCopyAttrsMax) return false;
  std::memcpy(&frame_, &header, header.length);
  for (replaced_ = 0; replaced_ < header.num_attrs; ++replaced_) {
    if (frame_.attrs[replaced_].attr_id == id) break;
  }
  if (replaced_ == header.num_attrs) return false;

  ib_uverbs_attr& attr = frame_.attrs[replaced_];
  const Bytes from = InputOf(&attr);
  // 8 bytes or fewer lie inside the attribute: none of the requests that we change is that short.
  if (from.size > kCopyBytesMax || from.size <= sizeof(attr.data)) return false;
  std::memcpy(bytes_, from.data, from.size);
  size_ = from.size;
  attr.data = reinterpret_cast<std::uint64_t>(bytes_);
  return true;
}

void CallCopy::CopyBack(ib_uverbs_ioctl_hdr* original) const {
  for (std::uint16_t i = 0; i < original->num_attrs; ++i) {
    const std::uint64_t data = original->attrs[i].data;
    original->attrs[i] = frame_.attrs[i];
    if (i == replaced_) original->attrs[i].data = data;
  }
}

}  // namespace rb::shim
