#include <infiniband/verbs.h>

#include <cerrno>
#include <memory>
#include <string_view>

#include "agent/rdma/query_device.h"

namespace rb::agent::rdma {
namespace {

struct ListDeleter {
  void operator()(ibv_device** list) const { ibv_free_device_list(list); }
};
struct ContextDeleter {
  void operator()(ibv_context* context) const { ibv_close_device(context); }
};
using DeviceList = std::unique_ptr<ibv_device*, ListDeleter>;
using Context = std::unique_ptr<ibv_context, ContextDeleter>;

Result<Context> Open(const std::string& name) {
  int count = 0;
  const DeviceList list(ibv_get_device_list(&count));
  if (!list) return FailErrno("list rdma devices", errno);
  for (int i = 0; i < count; ++i) {
    ibv_device* device = list.get()[i];
    if (std::string_view(ibv_get_device_name(device)) != name) continue;
    Context context(ibv_open_device(device));
    if (!context) {
      return Fail(ErrorCode::kUnavailable, "open rdma device " + name + " to query it");
    }
    return context;
  }
  return Fail(ErrorCode::kNotFound, "query rdma device " + name + ": libibverbs does not list it");
}

// The enumeration starts at 1 = 256 bytes and doubles.
std::uint32_t MtuBytes(unsigned mtu) { return mtu >= 1 && mtu <= 5 ? 128U << mtu : 0; }

std::uint64_t NotNegative(int value) { return value < 0 ? 0 : static_cast<std::uint64_t>(value); }

DeviceLimits ToLimits(const ibv_device_attr& device) {
  return {.max_qp = NotNegative(device.max_qp),
          .max_qp_wr = NotNegative(device.max_qp_wr),
          .max_sge = NotNegative(device.max_sge),
          .max_cq = NotNegative(device.max_cq),
          .max_cqe = NotNegative(device.max_cqe),
          .max_mr = NotNegative(device.max_mr),
          .max_mr_size_bytes = device.max_mr_size,
          .max_pd = NotNegative(device.max_pd),
          .max_srq = NotNegative(device.max_srq),
          .max_srq_wr = NotNegative(device.max_srq_wr),
          .max_ah = NotNegative(device.max_ah),
          .max_mw = NotNegative(device.max_mw),
          .max_qp_rd_atom = NotNegative(device.max_qp_rd_atom),
          .max_mcast_grp = NotNegative(device.max_mcast_grp),
          .vendor_id = device.vendor_id,
          .vendor_part_id = device.vendor_part_id,
          .hw_ver = device.hw_ver};
}

}  // namespace

Result<DeviceAnswer> VerbsDeviceQuery::Ask(const std::string& device) {
  RB_TRY(const Context context, Open(device));
  ibv_device_attr attributes{};
  if (const int error = ibv_query_device(context.get(), &attributes); error != 0) {
    return FailErrno("query rdma device " + device, error);
  }
  DeviceAnswer answer{.limits = ToLimits(attributes), .mtus = {}};
  for (std::uint32_t port = 1; port <= attributes.phys_port_cnt; ++port) {
    ibv_port_attr state{};
    if (ibv_query_port(context.get(), static_cast<std::uint8_t>(port), &state) != 0) continue;
    answer.mtus[port] = {.active_bytes = MtuBytes(state.active_mtu),
                         .max_bytes = MtuBytes(state.max_mtu)};
  }
  return answer;
}

}  // namespace rb::agent::rdma
