#include "shim/data_path.h"

#include <infiniband/verbs.h>

#include <cerrno>

#include "shim/log.h"
#include "shim/process.h"
#include "shim/qp_ex.h"
#include "shim/traffic.h"

namespace rb::shim {
namespace {

using PostSend = int (*)(ibv_qp*, ibv_send_wr*, ibv_send_wr**);
using CreateQpEx = ibv_qp* (*)(ibv_context*, ibv_qp_init_attr_ex*);

File* FileOf(const ibv_context* context) { return Self().table.Find(context->cmd_fd); }

template <typename F>
F Saved(void* const& place) {
  return reinterpret_cast<F>(__atomic_load_n(&place, __ATOMIC_ACQUIRE));
}

int PostSendUnderLease(ibv_qp* qp, ibv_send_wr* requests, ibv_send_wr** bad) {
  File* file = FileOf(qp->context);
  const auto post_send = file == nullptr ? nullptr : Saved<PostSend>(file->post_send);
  Passage passage;
  const Work asked = SumWork(requests, nullptr);
  const int refusal = post_send == nullptr ? EBADF : WaitToPass(file, asked.bytes(), &passage);
  if (refusal != 0) {
    *bad = requests;
    return refusal;
  }
  const int error = post_send(qp, requests, bad);
  if (error == 0) {
    Count(file, asked, passage);
    return 0;
  }
  const Work posted = SumWork(requests, *bad);
  TakeBack(file, asked.bytes() - posted.bytes(), passage);
  Count(file, posted, passage);
  return error;
}

ibv_qp* CreateQpExUnderLease(ibv_context* context, ibv_qp_init_attr_ex* attributes) {
  File* file = FileOf(context);
  const auto create = file == nullptr ? nullptr : Saved<CreateQpEx>(file->create_qp_ex);
  if (create == nullptr) {
    errno = EBADF;
    return nullptr;
  }
  ibv_qp* qp = create(context, attributes);
  if (qp != nullptr && (attributes->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0) {
    HookQpEx(file, reinterpret_cast<ibv_qp_ex*>(qp), attributes->send_ops_flags);
  }
  return qp;
}

// Keeps what stands in `*slot` and puts `ours` there; null stays null.
template <typename F>
void Replace(F* slot, F ours, void** keep) {
  if (*slot == nullptr || *slot == ours) return;
  __atomic_store_n(keep, reinterpret_cast<void*>(*slot), __ATOMIC_RELEASE);
  __atomic_store_n(slot, ours, __ATOMIC_RELEASE);
}

}  // namespace

void HookContext(verbs_context* context) {
  File* file = FileOf(&context->context);
  if (file == nullptr) return;
  RateView view;
  if (!file->lease->cache.ReadRate(*file->lease->policy, file->device_index, &view)) return;
  constexpr std::uint32_t kWatched = wire::kPolicyAccounting | wire::kPolicyPaced;
  if ((view.flags & kWatched) == 0 && view.rate.rate_bytes_per_second == 0) return;
  Replace(&context->context.ops.post_send, &PostSendUnderLease, &file->post_send);
  Replace(&context->create_qp_ex, &CreateQpExUnderLease, &file->create_qp_ex);
  Log(LogLevel::kTrace, "post_send of fd %d is paced or counted", context->context.cmd_fd);
}

}  // namespace rb::shim
