// Which call of the uverbs ABI creates, destroys or changes what: the one table that decode, ledger
// and rewrite are driven by. What a limit is called and what a refusal looks like stands in
// api/wire/limit_table.h.
//
// Three ways lead into the kernel and all three are listed: ioctl methods, the old write() commands
// and their extended form. libibverbs wraps the latter two into the ioctl INVOKE_WRITE, so a row's
// sizes do not count the command headers. Sources: rdma/ib_user_ioctl_cmds.h, rdma/ib_user_verbs.h,
// rdma/mlx5_user_ioctl_cmds.h.
//
// Constants only. Threading: none.
#pragma once

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/mlx5_user_ioctl_cmds.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "api/wire/limit_table.h"

namespace rb::shim {

enum class Abi : std::uint8_t { kIoctl, kWrite, kWriteEx };

enum class Action : std::uint8_t {
  kQuery,        // reads, or changes nothing that a lease bounds
  kCreate,       // makes an object: refused while draining
  kDestroy,      // takes one away: allowed even on a revoked lease
  kPoll,         // lets the application see its flushed completions: allowed even when revoked
  kPost,         // hands work to the device through the kernel (rxe's and siw's doorbell)
  kModifyQp,     // may carry a traffic class
  kReregMr,      // changes a memory region's length
  kInvokeWrite,  // envelope of a write command; the row of the command counts
};

// Bits of VerbRow::traits.
inline constexpr std::uint8_t kTraitRaw = 1U << 0;     // EPERM when the lease denies raw traffic
inline constexpr std::uint8_t kTraitDevx = 1U << 1;    // EOPNOTSUPP when the lease denies DEVX
inline constexpr std::uint8_t kTraitQpType = 1U << 2;  // the QP's type decides whether it is raw
inline constexpr std::uint8_t kTraitClass = 1U << 3;   // carries an address vector

inline constexpr std::uint8_t kNoLimit = 0xff;
inline constexpr std::uint16_t kNowhere = 0xffff;
inline constexpr std::uint32_t kAnyDriver = 0;

struct VerbRow {
  Abi abi;
  std::uint16_t object;  // kIoctl only
  std::uint32_t method;  // kIoctl: method; else the command number
  Action action;
  std::uint8_t limit = kNoLimit;  // Index(Limit) of what it makes or takes away
  std::uint8_t traits = 0;
  std::uint32_t driver_id = kAnyDriver;  // objects and methods from 0x1000 on belong to a driver
  // Sizes of the command's own part without headers; what follows is the provider's.
  std::uint16_t core_in = 0;
  std::uint16_t core_out = 0;
  // Where to find things. Write commands: a byte offset (handle: in the response of a create, in
  // the request of a destroy). Ioctl methods: an attribute id.
  std::uint16_t handle_at = 0;
  std::uint16_t user_handle_at = kNowhere;
  std::uint16_t length_at = kNowhere;  // bytes of a memory region
  std::uint16_t qp_type_at = kNowhere;
};

namespace internal {

constexpr std::uint8_t L(wire::Limit limit) { return static_cast<std::uint8_t>(limit); }

template <typename In>
constexpr std::uint16_t SizeIn() {
  return static_cast<std::uint16_t>(sizeof(In));
}

// A write command that only reads or changes; In is the request, Out the response or void.
template <typename In, typename Out = void>
constexpr VerbRow Write(std::uint32_t command, Action action) {
  VerbRow row{.abi = Abi::kWrite, .object = 0, .method = command, .action = action};
  row.core_in = SizeIn<In>();
  if constexpr (!std::is_void_v<Out>) row.core_out = SizeIn<Out>();
  return row;
}

constexpr VerbRow Counts(VerbRow row, wire::Limit limit, std::size_t handle_at = 0) {
  row.limit = L(limit);
  row.handle_at = static_cast<std::uint16_t>(handle_at);
  return row;
}

constexpr VerbRow WithUserHandle(VerbRow row, std::size_t at) {
  row.user_handle_at = static_cast<std::uint16_t>(at);
  return row;
}

constexpr VerbRow WithQpType(VerbRow row, std::size_t at) {
  row.qp_type_at = static_cast<std::uint16_t>(at);
  row.traits |= kTraitQpType;
  return row;
}

constexpr VerbRow WithLength(VerbRow row, std::size_t at) {
  row.length_at = static_cast<std::uint16_t>(at);
  return row;
}

constexpr VerbRow WithTraits(VerbRow row, std::uint8_t traits) {
  row.traits = static_cast<std::uint8_t>(row.traits | traits);
  return row;
}

constexpr VerbRow Extended(VerbRow row) {
  row.abi = Abi::kWriteEx;
  return row;
}

constexpr VerbRow Ioctl(std::uint16_t object, std::uint32_t method, Action action) {
  return {.abi = Abi::kIoctl, .object = object, .method = method, .action = action};
}

constexpr VerbRow OfDriver(std::uint32_t driver_id, std::uint16_t object, std::uint32_t method,
                           Action action, std::uint8_t traits = 0) {
  VerbRow row = Ioctl(object, method, action);
  row.driver_id = driver_id;
  row.traits = traits;
  return row;
}

constexpr VerbRow Mlx5(std::uint16_t object, std::uint32_t method, Action action,
                       std::uint8_t traits = 0) {
  return OfDriver(RDMA_DRIVER_MLX5, object, method, action, traits);
}

// The first number of a driver's own objects and methods.
inline constexpr std::uint16_t kOwn = 1U << UVERBS_ID_NS_SHIFT;

}  // namespace internal

// The old write() commands, sorted by number.
inline constexpr std::array kWriteTable = [] {
  using internal::Counts;
  using internal::WithLength;
  using internal::WithQpType;
  using internal::WithTraits;
  using internal::WithUserHandle;
  using internal::Write;
  using wire::Limit;
  return std::to_array<VerbRow>({
      Counts(Write<ib_uverbs_get_context, ib_uverbs_get_context_resp>(IB_USER_VERBS_CMD_GET_CONTEXT,
                                                                      Action::kCreate),
             Limit::kContexts),
      Write<ib_uverbs_query_device, ib_uverbs_query_device_resp>(IB_USER_VERBS_CMD_QUERY_DEVICE,
                                                                 Action::kQuery),
      Write<ib_uverbs_query_port, ib_uverbs_query_port_resp>(IB_USER_VERBS_CMD_QUERY_PORT,
                                                             Action::kQuery),
      Counts(Write<ib_uverbs_alloc_pd, ib_uverbs_alloc_pd_resp>(IB_USER_VERBS_CMD_ALLOC_PD,
                                                                Action::kCreate),
             Limit::kPds),
      Counts(Write<ib_uverbs_dealloc_pd>(IB_USER_VERBS_CMD_DEALLOC_PD, Action::kDestroy),
             Limit::kPds),
      WithTraits(Counts(Write<ib_uverbs_create_ah, ib_uverbs_create_ah_resp>(
                            IB_USER_VERBS_CMD_CREATE_AH, Action::kCreate),
                        Limit::kAhs),
                 kTraitClass),
      Counts(Write<ib_uverbs_destroy_ah>(IB_USER_VERBS_CMD_DESTROY_AH, Action::kDestroy),
             Limit::kAhs),
      WithLength(Counts(Write<ib_uverbs_reg_mr, ib_uverbs_reg_mr_resp>(IB_USER_VERBS_CMD_REG_MR,
                                                                       Action::kCreate),
                        Limit::kMrs),
                 offsetof(ib_uverbs_reg_mr, length)),
      WithLength(Write<ib_uverbs_rereg_mr, ib_uverbs_rereg_mr_resp>(IB_USER_VERBS_CMD_REREG_MR,
                                                                    Action::kReregMr),
                 offsetof(ib_uverbs_rereg_mr, length)),
      Counts(Write<ib_uverbs_dereg_mr>(IB_USER_VERBS_CMD_DEREG_MR, Action::kDestroy), Limit::kMrs),
      Counts(Write<ib_uverbs_alloc_mw, ib_uverbs_alloc_mw_resp>(IB_USER_VERBS_CMD_ALLOC_MW,
                                                                Action::kCreate),
             Limit::kMws),
      Counts(Write<ib_uverbs_dealloc_mw>(IB_USER_VERBS_CMD_DEALLOC_MW, Action::kDestroy),
             Limit::kMws),
      Write<ib_uverbs_create_comp_channel, ib_uverbs_create_comp_channel_resp>(
          IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL, Action::kCreate),
      WithUserHandle(Counts(Write<ib_uverbs_create_cq, ib_uverbs_create_cq_resp>(
                                IB_USER_VERBS_CMD_CREATE_CQ, Action::kCreate),
                            Limit::kCqs),
                     offsetof(ib_uverbs_create_cq, user_handle)),
      Write<ib_uverbs_resize_cq, ib_uverbs_resize_cq_resp>(IB_USER_VERBS_CMD_RESIZE_CQ,
                                                           Action::kQuery),
      Counts(Write<ib_uverbs_destroy_cq, ib_uverbs_destroy_cq_resp>(IB_USER_VERBS_CMD_DESTROY_CQ,
                                                                    Action::kDestroy),
             Limit::kCqs, offsetof(ib_uverbs_destroy_cq, cq_handle)),
      Write<ib_uverbs_poll_cq, ib_uverbs_poll_cq_resp>(IB_USER_VERBS_CMD_POLL_CQ, Action::kPoll),
      Write<ib_uverbs_req_notify_cq>(IB_USER_VERBS_CMD_REQ_NOTIFY_CQ, Action::kPoll),
      WithQpType(WithUserHandle(Counts(Write<ib_uverbs_create_qp, ib_uverbs_create_qp_resp>(
                                           IB_USER_VERBS_CMD_CREATE_QP, Action::kCreate),
                                       Limit::kQps),
                                offsetof(ib_uverbs_create_qp, user_handle)),
                 offsetof(ib_uverbs_create_qp, qp_type)),
      Write<ib_uverbs_query_qp, ib_uverbs_query_qp_resp>(IB_USER_VERBS_CMD_QUERY_QP,
                                                         Action::kQuery),
      WithTraits(Write<ib_uverbs_modify_qp>(IB_USER_VERBS_CMD_MODIFY_QP, Action::kModifyQp),
                 kTraitClass),
      Counts(Write<ib_uverbs_destroy_qp, ib_uverbs_destroy_qp_resp>(IB_USER_VERBS_CMD_DESTROY_QP,
                                                                    Action::kDestroy),
             Limit::kQps, offsetof(ib_uverbs_destroy_qp, qp_handle)),
      Write<ib_uverbs_post_send, ib_uverbs_post_send_resp>(IB_USER_VERBS_CMD_POST_SEND,
                                                           Action::kPost),
      Write<ib_uverbs_post_recv, ib_uverbs_post_recv_resp>(IB_USER_VERBS_CMD_POST_RECV,
                                                           Action::kPost),
      Write<ib_uverbs_attach_mcast>(IB_USER_VERBS_CMD_ATTACH_MCAST, Action::kQuery),
      // A QP that is still in a group cannot be destroyed: leaving one is part of destroying.
      Write<ib_uverbs_detach_mcast>(IB_USER_VERBS_CMD_DETACH_MCAST, Action::kDestroy),
      WithUserHandle(Counts(Write<ib_uverbs_create_srq, ib_uverbs_create_srq_resp>(
                                IB_USER_VERBS_CMD_CREATE_SRQ, Action::kCreate),
                            Limit::kSrqs),
                     offsetof(ib_uverbs_create_srq, user_handle)),
      Write<ib_uverbs_modify_srq>(IB_USER_VERBS_CMD_MODIFY_SRQ, Action::kQuery),
      Write<ib_uverbs_query_srq, ib_uverbs_query_srq_resp>(IB_USER_VERBS_CMD_QUERY_SRQ,
                                                           Action::kQuery),
      Counts(Write<ib_uverbs_destroy_srq, ib_uverbs_destroy_srq_resp>(IB_USER_VERBS_CMD_DESTROY_SRQ,
                                                                      Action::kDestroy),
             Limit::kSrqs, offsetof(ib_uverbs_destroy_srq, srq_handle)),
      Write<ib_uverbs_post_srq_recv, ib_uverbs_post_srq_recv_resp>(IB_USER_VERBS_CMD_POST_SRQ_RECV,
                                                                   Action::kPost),
      Counts(Write<ib_uverbs_open_xrcd, ib_uverbs_open_xrcd_resp>(IB_USER_VERBS_CMD_OPEN_XRCD,
                                                                  Action::kCreate),
             Limit::kXrcds),
      Counts(Write<ib_uverbs_close_xrcd>(IB_USER_VERBS_CMD_CLOSE_XRCD, Action::kDestroy),
             Limit::kXrcds),
      WithUserHandle(Counts(Write<ib_uverbs_create_xsrq, ib_uverbs_create_srq_resp>(
                                IB_USER_VERBS_CMD_CREATE_XSRQ, Action::kCreate),
                            Limit::kSrqs),
                     offsetof(ib_uverbs_create_xsrq, user_handle)),
      WithUserHandle(Counts(Write<ib_uverbs_open_qp, ib_uverbs_create_qp_resp>(
                                IB_USER_VERBS_CMD_OPEN_QP, Action::kCreate),
                            Limit::kQps),
                     offsetof(ib_uverbs_open_qp, user_handle)),
  });
}();

// The extended write() commands.
inline constexpr std::array kWriteExTable = [] {
  using internal::Counts;
  using internal::Extended;
  using internal::WithQpType;
  using internal::WithTraits;
  using internal::WithUserHandle;
  using internal::Write;
  using wire::Limit;
  return std::to_array<VerbRow>({
      Extended(Write<ib_uverbs_ex_query_device>(IB_USER_VERBS_EX_CMD_QUERY_DEVICE, Action::kQuery)),
      Extended(WithUserHandle(
          Counts(Write<ib_uverbs_ex_create_cq>(IB_USER_VERBS_EX_CMD_CREATE_CQ, Action::kCreate),
                 Limit::kCqs),
          offsetof(ib_uverbs_ex_create_cq, user_handle))),
      Extended(WithQpType(
          WithUserHandle(
              Counts(Write<ib_uverbs_ex_create_qp>(IB_USER_VERBS_EX_CMD_CREATE_QP, Action::kCreate),
                     Limit::kQps),
              offsetof(ib_uverbs_ex_create_qp, user_handle)),
          offsetof(ib_uverbs_ex_create_qp, qp_type))),
      Extended(WithTraits(
          Write<ib_uverbs_ex_modify_qp>(IB_USER_VERBS_EX_CMD_MODIFY_QP, Action::kModifyQp),
          kTraitClass)),
      Extended(WithTraits(
          Counts(Write<ib_uverbs_create_flow>(IB_USER_VERBS_EX_CMD_CREATE_FLOW, Action::kCreate),
                 Limit::kFlows, offsetof(ib_uverbs_create_flow_resp, flow_handle)),
          kTraitRaw)),
      Extended(
          Counts(Write<ib_uverbs_destroy_flow>(IB_USER_VERBS_EX_CMD_DESTROY_FLOW, Action::kDestroy),
                 Limit::kFlows, offsetof(ib_uverbs_destroy_flow, flow_handle))),
      Extended(WithUserHandle(
          Counts(Write<ib_uverbs_ex_create_wq>(IB_USER_VERBS_EX_CMD_CREATE_WQ, Action::kCreate),
                 Limit::kWqs, offsetof(ib_uverbs_ex_create_wq_resp, wq_handle)),
          offsetof(ib_uverbs_ex_create_wq, user_handle))),
      Extended(Write<ib_uverbs_ex_modify_wq>(IB_USER_VERBS_EX_CMD_MODIFY_WQ, Action::kQuery)),
      Extended(
          Counts(Write<ib_uverbs_ex_destroy_wq>(IB_USER_VERBS_EX_CMD_DESTROY_WQ, Action::kDestroy),
                 Limit::kWqs, offsetof(ib_uverbs_ex_destroy_wq, wq_handle))),
      Extended(Write<ib_uverbs_ex_create_rwq_ind_table>(IB_USER_VERBS_EX_CMD_CREATE_RWQ_IND_TBL,
                                                        Action::kCreate)),
      Extended(Write<ib_uverbs_ex_destroy_rwq_ind_table>(IB_USER_VERBS_EX_CMD_DESTROY_RWQ_IND_TBL,
                                                         Action::kDestroy)),
      Extended(Write<ib_uverbs_ex_modify_cq>(IB_USER_VERBS_EX_CMD_MODIFY_CQ, Action::kQuery)),
  });
}();

// The ioctl methods, core objects first, then the drivers' own.
inline constexpr std::array kIoctlTable = [] {
  using internal::Counts;
  using internal::Ioctl;
  using internal::kOwn;
  using internal::Mlx5;
  using internal::OfDriver;
  using internal::WithLength;
  using internal::WithQpType;
  using internal::WithTraits;
  using internal::WithUserHandle;
  using wire::Limit;
  return std::to_array<VerbRow>({
      Ioctl(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE, Action::kInvokeWrite),
      Ioctl(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INFO_HANDLES, Action::kQuery),
      Ioctl(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_PORT, Action::kQuery),
      Counts(Ioctl(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_GET_CONTEXT, Action::kCreate),
             Limit::kContexts),
      Ioctl(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_CONTEXT, Action::kQuery),
      Ioctl(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_GID_TABLE, Action::kQuery),
      Ioctl(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_GID_ENTRY, Action::kQuery),
      Counts(Ioctl(UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY, Action::kDestroy), Limit::kPds),
      WithUserHandle(
          Counts(Ioctl(UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE, Action::kCreate), Limit::kCqs),
          UVERBS_ATTR_CREATE_CQ_USER_HANDLE),
      Counts(Ioctl(UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_DESTROY, Action::kDestroy), Limit::kCqs),
      WithQpType(
          WithUserHandle(Counts(Ioctl(UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE, Action::kCreate),
                                Limit::kQps),
                         UVERBS_ATTR_CREATE_QP_USER_HANDLE),
          UVERBS_ATTR_CREATE_QP_TYPE),
      Counts(Ioctl(UVERBS_OBJECT_QP, UVERBS_METHOD_QP_DESTROY, Action::kDestroy), Limit::kQps),
      WithUserHandle(
          Counts(Ioctl(UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_CREATE, Action::kCreate), Limit::kSrqs),
          UVERBS_ATTR_CREATE_SRQ_USER_HANDLE),
      Counts(Ioctl(UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_DESTROY, Action::kDestroy), Limit::kSrqs),
      Counts(Ioctl(UVERBS_OBJECT_AH, UVERBS_METHOD_AH_DESTROY, Action::kDestroy), Limit::kAhs),
      WithLength(
          Counts(Ioctl(UVERBS_OBJECT_MR, UVERBS_METHOD_DM_MR_REG, Action::kCreate), Limit::kMrs),
          UVERBS_ATTR_REG_DM_MR_LENGTH),
      Counts(Ioctl(UVERBS_OBJECT_MR, UVERBS_METHOD_MR_DESTROY, Action::kDestroy), Limit::kMrs),
      Ioctl(UVERBS_OBJECT_MR, UVERBS_METHOD_ADVISE_MR, Action::kQuery),
      Ioctl(UVERBS_OBJECT_MR, UVERBS_METHOD_QUERY_MR, Action::kQuery),
      WithLength(Counts(Ioctl(UVERBS_OBJECT_MR, UVERBS_METHOD_REG_DMABUF_MR, Action::kCreate),
                        Limit::kMrs),
                 UVERBS_ATTR_REG_DMABUF_MR_LENGTH),
      Counts(Ioctl(UVERBS_OBJECT_MW, UVERBS_METHOD_MW_DESTROY, Action::kDestroy), Limit::kMws),
      Counts(Ioctl(UVERBS_OBJECT_FLOW, UVERBS_METHOD_FLOW_DESTROY, Action::kDestroy),
             Limit::kFlows),
      Counts(Ioctl(UVERBS_OBJECT_XRCD, UVERBS_METHOD_XRCD_DESTROY, Action::kDestroy),
             Limit::kXrcds),
      Ioctl(UVERBS_OBJECT_RWQ_IND_TBL, UVERBS_METHOD_RWQ_IND_TBL_DESTROY, Action::kDestroy),
      WithUserHandle(
          Counts(Ioctl(UVERBS_OBJECT_WQ, UVERBS_METHOD_WQ_CREATE, Action::kCreate), Limit::kWqs),
          UVERBS_ATTR_CREATE_WQ_USER_HANDLE),
      Counts(Ioctl(UVERBS_OBJECT_WQ, UVERBS_METHOD_WQ_DESTROY, Action::kDestroy), Limit::kWqs),
      Ioctl(UVERBS_OBJECT_FLOW_ACTION, UVERBS_METHOD_FLOW_ACTION_ESP_CREATE, Action::kCreate),
      Ioctl(UVERBS_OBJECT_FLOW_ACTION, UVERBS_METHOD_FLOW_ACTION_DESTROY, Action::kDestroy),
      Ioctl(UVERBS_OBJECT_FLOW_ACTION, UVERBS_METHOD_FLOW_ACTION_ESP_MODIFY, Action::kQuery),
      Ioctl(UVERBS_OBJECT_DM, UVERBS_METHOD_DM_ALLOC, Action::kCreate),
      Ioctl(UVERBS_OBJECT_DM, UVERBS_METHOD_DM_FREE, Action::kDestroy),
      Counts(Ioctl(UVERBS_OBJECT_COUNTERS, UVERBS_METHOD_COUNTERS_CREATE, Action::kCreate),
             Limit::kCounters),
      Counts(Ioctl(UVERBS_OBJECT_COUNTERS, UVERBS_METHOD_COUNTERS_DESTROY, Action::kDestroy),
             Limit::kCounters),
      Ioctl(UVERBS_OBJECT_COUNTERS, UVERBS_METHOD_COUNTERS_READ, Action::kQuery),
      Ioctl(UVERBS_OBJECT_ASYNC_EVENT, UVERBS_METHOD_ASYNC_EVENT_ALLOC, Action::kCreate),

      Mlx5(UVERBS_OBJECT_DEVICE, MLX5_IB_METHOD_QUERY_PORT, Action::kQuery),
      Mlx5(UVERBS_OBJECT_PD, MLX5_IB_METHOD_PD_QUERY, Action::kQuery),
      Mlx5(UVERBS_OBJECT_DM, MLX5_IB_METHOD_DM_MAP_OP_ADDR, Action::kCreate),
      Mlx5(UVERBS_OBJECT_DM, MLX5_IB_METHOD_DM_QUERY, Action::kQuery),
      Counts(Mlx5(UVERBS_OBJECT_FLOW, MLX5_IB_METHOD_CREATE_FLOW, Action::kCreate, kTraitRaw),
             Limit::kFlows),
      Counts(Mlx5(UVERBS_OBJECT_FLOW, MLX5_IB_METHOD_DESTROY_FLOW, Action::kDestroy),
             Limit::kFlows),
      Mlx5(UVERBS_OBJECT_FLOW_ACTION, MLX5_IB_METHOD_FLOW_ACTION_CREATE_MODIFY_HEADER,
           Action::kCreate, kTraitRaw),
      Mlx5(UVERBS_OBJECT_FLOW_ACTION, MLX5_IB_METHOD_FLOW_ACTION_CREATE_PACKET_REFORMAT,
           Action::kCreate, kTraitRaw),
      Mlx5(MLX5_IB_OBJECT_FLOW_MATCHER, MLX5_IB_METHOD_FLOW_MATCHER_CREATE, Action::kCreate,
           kTraitRaw),
      Mlx5(MLX5_IB_OBJECT_FLOW_MATCHER, MLX5_IB_METHOD_FLOW_MATCHER_DESTROY, Action::kDestroy),
      Mlx5(MLX5_IB_OBJECT_STEERING_ANCHOR, MLX5_IB_METHOD_STEERING_ANCHOR_CREATE, Action::kCreate,
           kTraitRaw),
      Mlx5(MLX5_IB_OBJECT_STEERING_ANCHOR, MLX5_IB_METHOD_STEERING_ANCHOR_DESTROY,
           Action::kDestroy),
      Mlx5(MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_OTHER, Action::kQuery, kTraitDevx),
      Mlx5(MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_QUERY_UAR, Action::kQuery, kTraitDevx),
      Mlx5(MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_QUERY_EQN, Action::kQuery, kTraitDevx),
      Mlx5(MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_SUBSCRIBE_EVENT, Action::kQuery, kTraitDevx),
      Mlx5(MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_CREATE, Action::kCreate, kTraitDevx),
      Mlx5(MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_DESTROY, Action::kDestroy),
      Mlx5(MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_MODIFY, Action::kQuery, kTraitDevx),
      Mlx5(MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_QUERY, Action::kQuery, kTraitDevx),
      Mlx5(MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_ASYNC_QUERY, Action::kQuery,
           kTraitDevx),
      Mlx5(MLX5_IB_OBJECT_DEVX_UMEM, MLX5_IB_METHOD_DEVX_UMEM_REG, Action::kCreate, kTraitDevx),
      Mlx5(MLX5_IB_OBJECT_DEVX_UMEM, MLX5_IB_METHOD_DEVX_UMEM_DEREG, Action::kDestroy),
      Mlx5(MLX5_IB_OBJECT_DEVX_ASYNC_CMD_FD, MLX5_IB_METHOD_DEVX_ASYNC_CMD_FD_ALLOC,
           Action::kCreate, kTraitDevx),
      Mlx5(MLX5_IB_OBJECT_DEVX_ASYNC_EVENT_FD, MLX5_IB_METHOD_DEVX_ASYNC_EVENT_FD_ALLOC,
           Action::kCreate, kTraitDevx),
      // The provider's own plumbing of doorbell pages: not a way around the lease.
      Mlx5(MLX5_IB_OBJECT_VAR, MLX5_IB_METHOD_VAR_OBJ_ALLOC, Action::kCreate),
      Mlx5(MLX5_IB_OBJECT_VAR, MLX5_IB_METHOD_VAR_OBJ_DESTROY, Action::kDestroy),
      Mlx5(MLX5_IB_OBJECT_PP, MLX5_IB_METHOD_PP_OBJ_ALLOC, Action::kCreate),
      Mlx5(MLX5_IB_OBJECT_PP, MLX5_IB_METHOD_PP_OBJ_DESTROY, Action::kDestroy),
      Mlx5(MLX5_IB_OBJECT_UAR, MLX5_IB_METHOD_UAR_OBJ_ALLOC, Action::kCreate),
      Mlx5(MLX5_IB_OBJECT_UAR, MLX5_IB_METHOD_UAR_OBJ_DESTROY, Action::kDestroy),

      // bnxt_re: doorbell and toggle pages, and waking the driver. Newer than our headers.
      OfDriver(RDMA_DRIVER_BNXT_RE, kOwn, kOwn, Action::kCreate),
      OfDriver(RDMA_DRIVER_BNXT_RE, kOwn, kOwn + 1, Action::kDestroy),
      OfDriver(RDMA_DRIVER_BNXT_RE, kOwn + 1, kOwn, Action::kQuery),
      OfDriver(RDMA_DRIVER_BNXT_RE, kOwn + 2, kOwn, Action::kCreate),
      OfDriver(RDMA_DRIVER_BNXT_RE, kOwn + 2, kOwn + 1, Action::kDestroy),
      // efa: which of the region's interconnects the device reads through.
      OfDriver(RDMA_DRIVER_EFA, UVERBS_OBJECT_MR, kOwn, Action::kQuery),
  });
}();

// The row of an ioctl method or of a write command; null when the table does not know it.
constexpr const VerbRow* FindIoctl(std::uint16_t object, std::uint32_t method,
                                   std::uint32_t driver_id) {
  for (const VerbRow& row : kIoctlTable) {
    if (row.object == object && row.method == method &&
        (row.driver_id == kAnyDriver || row.driver_id == driver_id)) {
      return &row;
    }
  }
  return nullptr;
}

constexpr const VerbRow* FindWrite(Abi abi, std::uint32_t command) {
  if (abi == Abi::kWrite) {
    for (const VerbRow& row : kWriteTable) {
      if (row.method == command) return &row;
    }
    return nullptr;
  }
  for (const VerbRow& row : kWriteExTable) {
    if (row.method == command) return &row;
  }
  return nullptr;
}

}  // namespace rb::shim
