#include "shim/qp_ex.h"

#include <cerrno>
#include <cstdlib>

#include "shim/log.h"
#include "shim/process.h"
#include "shim/traffic.h"
#include "shim/uverbs/decode.h"

namespace rb::shim {
namespace {

// One queue's batch between wr_start and wr_complete, and the provider's functions. Plain memory:
// made with calloc, freed when the queue is destroyed (control.cc).
struct QpExState {
  ibv_qp_ex provider;  // only its function pointers are used
  File* file;
  Work pending;
  wire::Op last;     // what the next wr_set_* gives data to
  bool has_payload;  // false after a request that moves none
  bool refused;      // the lease was revoked at wr_start
  Passage passage;
};

// Null for a queue whose file was closed, or given up at the process's end (FdTable::Abandon) while
// another thread still posts. Such a request goes nowhere, and wr_complete says EBADF.
QpExState* StateOf(const ibv_qp_ex* qp) {
  const File* file = Self().table.Find(qp->qp_base.context->cmd_fd);
  if (file == nullptr) return nullptr;
  return AtAddress<QpExState>(file->queues.Get(qp->qp_base.handle));
}

void Begin(QpExState* state, wire::Op op, std::uint64_t bytes = 0) {
  state->last = op;
  state->has_payload = true;
  state->pending.Add(op, 1, bytes);
}

void AddBytes(QpExState* state, std::uint64_t bytes) {
  if (state->has_payload) state->pending.Add(state->last, 0, bytes);
}

void Start(ibv_qp_ex* qp) {
  QpExState* state = StateOf(qp);
  if (state == nullptr) return;
  state->pending = {};
  state->has_payload = false;
  state->refused = WaitToPass(state->file, 0, &state->passage) != 0;
  state->provider.wr_start(qp);
}

int Complete(ibv_qp_ex* qp) {
  QpExState* state = StateOf(qp);
  if (state == nullptr) return EBADF;
  if (state->refused) {
    state->provider.wr_abort(qp);
    return EACCES;
  }
  const int error = state->provider.wr_complete(qp);
  if (error == 0) {
    ChargeLate(state->file, state->pending.bytes(), state->passage);
    Count(state->file, state->pending, state->passage);
  }
  return error;
}

void AtomicCompareSwap(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t remote,
                       std::uint64_t compare, std::uint64_t swap) {
  QpExState* state = StateOf(qp);
  if (state == nullptr) return;
  Begin(state, wire::Op::kAtomic, kAtomicBytes);
  state->has_payload = false;  // its scatter entry is where the answer goes
  state->provider.wr_atomic_cmp_swp(qp, rkey, remote, compare, swap);
}

void AtomicFetchAdd(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t remote, std::uint64_t add) {
  QpExState* state = StateOf(qp);
  if (state == nullptr) return;
  Begin(state, wire::Op::kAtomic, kAtomicBytes);
  state->has_payload = false;
  state->provider.wr_atomic_fetch_add(qp, rkey, remote, add);
}

void AtomicWrite(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t remote, const void* value) {
  QpExState* state = StateOf(qp);
  if (state == nullptr) return;
  Begin(state, wire::Op::kWrite, kAtomicBytes);
  state->has_payload = false;
  state->provider.wr_atomic_write(qp, rkey, remote, value);
}

void BindMw(ibv_qp_ex* qp, ibv_mw* window, std::uint32_t rkey, const ibv_mw_bind_info* info) {
  QpExState* state = StateOf(qp);
  if (state == nullptr) return;
  state->has_payload = false;
  state->provider.wr_bind_mw(qp, window, rkey, info);
}

void LocalInvalidate(ibv_qp_ex* qp, std::uint32_t rkey) {
  QpExState* state = StateOf(qp);
  if (state == nullptr) return;
  state->has_payload = false;
  state->provider.wr_local_inv(qp, rkey);
}

void RdmaRead(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t remote) {
  QpExState* state = StateOf(qp);
  if (state == nullptr) return;
  Begin(state, wire::Op::kRead);
  state->provider.wr_rdma_read(qp, rkey, remote);
}

void RdmaWrite(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t remote) {
  QpExState* state = StateOf(qp);
  if (state == nullptr) return;
  Begin(state, wire::Op::kWrite);
  state->provider.wr_rdma_write(qp, rkey, remote);
}

void RdmaWriteImm(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t remote, __be32 imm) {
  QpExState* state = StateOf(qp);
  if (state == nullptr) return;
  Begin(state, wire::Op::kWrite);
  state->provider.wr_rdma_write_imm(qp, rkey, remote, imm);
}

void Send(ibv_qp_ex* qp) {
  QpExState* state = StateOf(qp);
  if (state == nullptr) return;
  Begin(state, wire::Op::kSend);
  state->provider.wr_send(qp);
}

void SendImm(ibv_qp_ex* qp, __be32 imm) {
  QpExState* state = StateOf(qp);
  if (state == nullptr) return;
  Begin(state, wire::Op::kSend);
  state->provider.wr_send_imm(qp, imm);
}

void SendInvalidate(ibv_qp_ex* qp, std::uint32_t rkey) {
  QpExState* state = StateOf(qp);
  if (state == nullptr) return;
  Begin(state, wire::Op::kSend);
  state->provider.wr_send_inv(qp, rkey);
}

void SendTso(ibv_qp_ex* qp, void* header, std::uint16_t header_bytes, std::uint16_t mss) {
  QpExState* state = StateOf(qp);
  if (state == nullptr) return;
  Begin(state, wire::Op::kSend, header_bytes);
  state->provider.wr_send_tso(qp, header, header_bytes, mss);
}

void SetInline(ibv_qp_ex* qp, void* data, std::size_t bytes) {
  QpExState* state = StateOf(qp);
  if (state == nullptr) return;
  AddBytes(state, bytes);
  state->provider.wr_set_inline_data(qp, data, bytes);
}

void SetInlineList(ibv_qp_ex* qp, std::size_t count, const ibv_data_buf* buffers) {
  QpExState* state = StateOf(qp);
  if (state == nullptr) return;
  for (std::size_t i = 0; i < count; ++i) AddBytes(state, buffers[i].length);
  state->provider.wr_set_inline_data_list(qp, count, buffers);
}

void SetSge(ibv_qp_ex* qp, std::uint32_t lkey, std::uint64_t address, std::uint32_t bytes) {
  QpExState* state = StateOf(qp);
  if (state == nullptr) return;
  AddBytes(state, bytes);
  state->provider.wr_set_sge(qp, lkey, address, bytes);
}

void SetSgeList(ibv_qp_ex* qp, std::size_t count, const ibv_sge* list) {
  QpExState* state = StateOf(qp);
  if (state == nullptr) return;
  for (std::size_t i = 0; i < count; ++i) AddBytes(state, list[i].length);
  state->provider.wr_set_sge_list(qp, count, list);
}

// Keeps the provider's function and puts ours in its place; one that the provider left out stays
// out.
template <typename F>
void Replace(F* slot, F ours, F* keep) {
  *keep = *slot;
  if (*slot != nullptr) *slot = ours;
}

void ReplaceBatch(ibv_qp_ex* qp, ibv_qp_ex* keep) {
  Replace(&qp->wr_start, &Start, &keep->wr_start);
  Replace(&qp->wr_complete, &Complete, &keep->wr_complete);
  keep->wr_abort = qp->wr_abort;
  Replace(&qp->wr_set_inline_data, &SetInline, &keep->wr_set_inline_data);
  Replace(&qp->wr_set_inline_data_list, &SetInlineList, &keep->wr_set_inline_data_list);
  Replace(&qp->wr_set_sge, &SetSge, &keep->wr_set_sge);
  Replace(&qp->wr_set_sge_list, &SetSgeList, &keep->wr_set_sge_list);
}

void ReplaceRequests(ibv_qp_ex* qp, ibv_qp_ex* keep) {
  Replace(&qp->wr_atomic_cmp_swp, &AtomicCompareSwap, &keep->wr_atomic_cmp_swp);
  Replace(&qp->wr_atomic_fetch_add, &AtomicFetchAdd, &keep->wr_atomic_fetch_add);
  Replace(&qp->wr_bind_mw, &BindMw, &keep->wr_bind_mw);
  Replace(&qp->wr_local_inv, &LocalInvalidate, &keep->wr_local_inv);
  Replace(&qp->wr_rdma_read, &RdmaRead, &keep->wr_rdma_read);
  Replace(&qp->wr_rdma_write, &RdmaWrite, &keep->wr_rdma_write);
  Replace(&qp->wr_rdma_write_imm, &RdmaWriteImm, &keep->wr_rdma_write_imm);
  Replace(&qp->wr_send, &Send, &keep->wr_send);
  Replace(&qp->wr_send_imm, &SendImm, &keep->wr_send_imm);
  Replace(&qp->wr_send_inv, &SendInvalidate, &keep->wr_send_inv);
  Replace(&qp->wr_send_tso, &SendTso, &keep->wr_send_tso);
}

}  // namespace

void HookQpEx(File* file, ibv_qp_ex* qp, std::uint64_t send_ops) {
  auto* state = static_cast<QpExState*>(std::calloc(1, sizeof(QpExState)));
  if (state == nullptr ||
      !file->queues.Set(qp->qp_base.handle, reinterpret_cast<std::uint64_t>(state))) {
    Log(LogLevel::kError, "queue pair %u is not counted: no memory", qp->qp_base.qp_num);
    std::free(state);
    return;
  }
  state->file = file;
  ReplaceBatch(qp, &state->provider);
  ReplaceRequests(qp, &state->provider);
  // The last member of the structure, and younger than the rest: in a library without it, what lies
  // there is something else.
  if ((send_ops & IBV_QP_EX_WITH_ATOMIC_WRITE) != 0) {
    Replace(&qp->wr_atomic_write, &AtomicWrite, &state->provider.wr_atomic_write);
  }
}

}  // namespace rb::shim
