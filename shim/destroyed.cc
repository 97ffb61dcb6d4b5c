#include "shim/destroyed.h"

#include <infiniband/verbs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstring>

#include "shim/lock.h"

namespace rb::shim {
namespace {

using wire::Limit;

// A 32-bit word of this process, or 0 when the address is not readable.
std::uint32_t ReadWord(std::uint64_t address) {
  const ErrnoGuard keep_errno;
  std::uint32_t word = 0;
  iovec local{.iov_base = &word, .iov_len = sizeof(word)};
  iovec remote{.iov_base = AtAddress<void>(address), .iov_len = sizeof(word)};
  const long got = ::syscall(SYS_process_vm_readv, ::getpid(), &local, 1, &remote, 1, 0);
  return got == static_cast<long>(sizeof(word)) ? word : 0;
}

struct Response {
  std::uint32_t words[4] = {};  // NOLINT(modernize-avoid-c-arrays)
  std::size_t size = 0;
};

Response ResponseFor(const Call& call, std::uint64_t object) {
  const auto at = [object](std::size_t offset) {
    return object == 0 ? 0 : ReadWord(object + offset);
  };
  switch (static_cast<Limit>(call.row->limit)) {
    case Limit::kQps:
      return {.words = {at(offsetof(ibv_qp, events_completed))}, .size = 4};
    case Limit::kSrqs:
      return {.words = {at(offsetof(ibv_srq, events_completed))}, .size = 4};
    case Limit::kCqs:
      return {.words = {at(offsetof(ibv_cq, comp_events_completed)),
                        at(offsetof(ibv_cq, async_events_completed))},
              .size = 8};
    case Limit::kWqs: {
      const std::uint32_t events = at(offsetof(ibv_wq, events_completed));
      if (call.abi == Abi::kIoctl) return {.words = {events}, .size = 4};
      return {.words = {0, sizeof(ib_uverbs_ex_destroy_wq_resp), events, 0},
              .size = sizeof(ib_uverbs_ex_destroy_wq_resp)};
    }
    default:
      return {};
  }
}

}  // namespace

void AnswerDestroyed(const Call& call, std::uint64_t user_handle) {
  const Response response = ResponseFor(call, user_handle);
  Bytes out = call.core_out;
  if (call.abi == Abi::kIoctl) {
    constexpr std::uint16_t kResponseAttr = UVERBS_ATTR_DESTROY_QP_RESP;
    static_assert(UVERBS_ATTR_DESTROY_CQ_RESP == kResponseAttr);
    static_assert(UVERBS_ATTR_DESTROY_SRQ_RESP == kResponseAttr);
    static_assert(UVERBS_ATTR_DESTROY_WQ_RESP == kResponseAttr);
    const ib_uverbs_attr* attr = FindAttr(call.header, kResponseAttr);
    if (attr == nullptr) return;
    out = {.data = AtAddress<std::uint8_t>(attr->data), .size = attr->len};
  }
  if (out.data == nullptr || response.size == 0) return;
  std::memcpy(out.data, response.words, response.size < out.size ? response.size : out.size);
}

}  // namespace rb::shim
