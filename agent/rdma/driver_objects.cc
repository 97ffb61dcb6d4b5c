#include <rdma/ib_user_ioctl_verbs.h>

#include <algorithm>
#include <array>

#include "agent/rdma/uverbs_control.h"

namespace rb::agent::rdma {
namespace {

// mlx5: DEVX objects may be any firmware object, queue pairs included; they use UMEMs and UARs.
constexpr std::array kMlx5Objects{
    ObjectKind{"devx_obj", 0x1001, 0x1001, 0},
    ObjectKind{"flow_matcher", 0x1003, 0x1001, 0},
    ObjectKind{"steering_anchor", 0x1009, 0x1001, 0},
    ObjectKind{"devx_umem", 0x1002, 0x1001, 0},
    ObjectKind{"var", 0x1006, 0x1001, 0},
    ObjectKind{"pp", 0x1007, 0x1001, 0},
    ObjectKind{"uar", 0x1008, 0x1001, 0},
};

// bnxt_re, kernels from 6.5 on: doorbell pages and pages of completion state.
constexpr std::array kBnxtObjects{
    ObjectKind{"toggle_mem", 0x1002, 0x1001, 0},
    ObjectKind{"doorbell_page", 0x1000, 0x1001, 0},
};

}  // namespace

std::span<const ObjectKind> DriverObjects(std::uint32_t driver_id) {
  switch (driver_id) {
    case RDMA_DRIVER_MLX5:
      return kMlx5Objects;
    case RDMA_DRIVER_BNXT_RE:
      return kBnxtObjects;
    default:
      return {};
  }
}

std::vector<ObjectKind> DestroyOrder(std::uint32_t driver_id) {
  const std::span<const ObjectKind> driver = DriverObjects(driver_id);
  std::vector<ObjectKind> order(kDestroyOrder.begin(), kDestroyOrder.end());
  order.insert(order.end() - 1, driver.begin(), driver.end());
  return order;
}

}  // namespace rb::agent::rdma
