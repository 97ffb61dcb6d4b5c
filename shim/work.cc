#include "shim/work.h"

namespace rb::shim {
namespace {

std::uint64_t ListBytes(const ibv_send_wr& request) {
  std::uint64_t sum = 0;
  for (int i = 0; i < request.num_sge; ++i) sum += request.sg_list[i].length;
  return sum;
}

void AddRequest(const ibv_send_wr& request, Work* work) {
  switch (request.opcode) {
    case IBV_WR_RDMA_WRITE:
    case IBV_WR_RDMA_WRITE_WITH_IMM:
      work->Add(wire::Op::kWrite, 1, ListBytes(request));
      break;
    case IBV_WR_SEND:
    case IBV_WR_SEND_WITH_IMM:
    case IBV_WR_SEND_WITH_INV:
      work->Add(wire::Op::kSend, 1, ListBytes(request));
      break;
    case IBV_WR_TSO:
      work->Add(wire::Op::kSend, 1, request.tso.hdr_sz + ListBytes(request));
      break;
    case IBV_WR_RDMA_READ:
      work->Add(wire::Op::kRead, 1, ListBytes(request));
      break;
    case IBV_WR_ATOMIC_CMP_AND_SWP:
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
      work->Add(wire::Op::kAtomic, 1, kAtomicBytes);
      break;
    case IBV_WR_ATOMIC_WRITE:
      work->Add(wire::Op::kWrite, 1, kAtomicBytes);
      break;
    default:
      break;
  }
}

}  // namespace

Work SumWork(const ibv_send_wr* first, const ibv_send_wr* end) {
  Work work;
  for (const ibv_send_wr* at = first; at != end && at != nullptr; at = at->next) {
    AddRequest(*at, &work);
  }
  return work;
}

}  // namespace rb::shim
