#include "agent/rdma/nldev.h"

#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>

#include <algorithm>
#include <cstring>

namespace rb::agent::rdma {
namespace {

// ERROR and DONE both start with a negative errno value.
Result<int> ErrnoIn(std::string_view payload) {
  int code = 0;
  if (payload.size() < sizeof(code)) {
    return Fail(ErrorCode::kCorrupt, "read rdma netlink: a status message without a status");
  }
  std::memcpy(&code, payload.data(), sizeof(code));
  return -code;
}

}  // namespace

Result<NldevAnswerReader::Progress> NldevAnswerReader::Take(std::string_view datagram) {
  while (datagram.size() >= sizeof(nlmsghdr)) {
    nlmsghdr header{};
    std::memcpy(&header, datagram.data(), sizeof(header));
    if (header.nlmsg_len < sizeof(header) || header.nlmsg_len > datagram.size()) {
      return Fail(ErrorCode::kCorrupt, "read rdma netlink: a message does not fit its datagram");
    }
    const std::string_view payload =
        datagram.substr(sizeof(header), header.nlmsg_len - sizeof(header));
    datagram.remove_prefix(
        std::min<std::size_t>(NLMSG_ALIGN(std::size_t{header.nlmsg_len}), datagram.size()));
    if (header.nlmsg_seq != sequence_) continue;
    RB_TRY(const Progress progress, TakeMessage(header.nlmsg_type, header.nlmsg_flags, payload));
    if (progress != Progress::kMore) return progress;
  }
  return Progress::kMore;
}

Result<NldevAnswerReader::Progress> NldevAnswerReader::TakeMessage(std::uint16_t type,
                                                                   std::uint16_t flags,
                                                                   std::string_view payload) {
  // The answer is read to its end even when interrupted: the rest would disturb the next one.
  interrupted_ = interrupted_ || (flags & NLM_F_DUMP_INTR) != 0;
  switch (type) {
    case NLMSG_NOOP:
      return Progress::kMore;
    case NLMSG_ERROR:
    case NLMSG_DONE: {
      // A dump that fails half-way ends with a DONE that carries the error, not with an ERROR.
      RB_TRY(const int error, type == NLMSG_DONE && payload.empty() ? 0 : ErrnoIn(payload));
      if (error != 0) return FailErrno("ask rdma netlink", error);
      return interrupted_ ? Progress::kInterrupted : Progress::kDone;
    }
    default:
      break;
  }
  answer_.emplace_back(payload);
  // An answer in one part has no DONE.
  if ((flags & NLM_F_MULTI) == 0) return Progress::kDone;
  return Progress::kMore;
}

std::string EncodeNldevRequest(const NldevRequest& request, std::uint32_t sequence) {
  nlmsghdr header{};
  header.nlmsg_len = static_cast<std::uint32_t>(sizeof(header) + request.attributes.size());
  header.nlmsg_type = static_cast<std::uint16_t>(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, request.command));
  // ACK, so that a command that answers with nothing still ends.
  header.nlmsg_flags =
      static_cast<std::uint16_t>(NLM_F_REQUEST | NLM_F_ACK | (request.dump ? NLM_F_DUMP : 0));
  header.nlmsg_seq = sequence;
  return std::string(reinterpret_cast<const char*>(&header), sizeof(header)) + request.attributes;
}

}  // namespace rb::agent::rdma
