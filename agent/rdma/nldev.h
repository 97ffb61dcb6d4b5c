// RDMA netlink: one question to the kernel's RDMA subsystem and its whole answer.
//
// A port: LinuxNldev talks to the kernel, FakeNldev (tests/fakes/fake_rdma_nldev.h) plays recorded
// answers. What netlink makes easy to get wrong is handled here once:
//   * an answer in many parts ends with its DONE message, whose own error code counts;
//   * answers to an earlier question, and messages that are not the kernel's, are dropped;
//   * a dump that the kernel says was interrupted, or that overran the socket, starts again.
// The kernel does not mark a *resource* dump that changed under way, so a row can come twice or be
// missed: readers remove doubles and ask again next time.
//
// What the attributes mean is in nldev_decode.h.
// Threading: thread-compatible. Ask() blocks for some milliseconds: not for the loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"

namespace rb::agent::rdma {

struct NldevRequest {
  std::uint16_t command = 0;  // RDMA_NLDEV_CMD_*
  bool dump = false;
  std::string attributes;  // netlink_attributes.h builds them

  bool operator==(const NldevRequest&) const = default;
};

// The attribute bytes of every message of an answer, in order.
using NldevAnswer = std::vector<std::string>;

class Nldev {
 public:
  virtual ~Nldev() = default;

  // Errors: kInvalid, the kernel knows no such command or device index (it does not say which);
  //         kUnsupported, no RDMA netlink in this kernel; kUnavailable, interrupted kAttemptsMax
  //         times; kTimeout; kDenied; kCorrupt; kInternal.
  virtual Result<NldevAnswer> Ask(const NldevRequest& request) = 0;
};

class LinuxNldev final : public Nldev {
 public:
  Result<NldevAnswer> Ask(const NldevRequest& request) override;
};

// How often an interrupted dump is started again.
inline constexpr int kNldevAttemptsMax = 5;

// Collects the messages of one answer from what recv(2) returns. Pure.
class NldevAnswerReader {
 public:
  explicit NldevAnswerReader(std::uint32_t sequence) : sequence_(sequence) {}

  enum class Progress : std::uint8_t { kMore, kDone, kInterrupted };

  // Takes one datagram, which may hold several messages. After kDone, answer() is whole.
  // Errors: the kernel's own refusal by errno; kCorrupt, a damaged message.
  Result<Progress> Take(std::string_view datagram);

  NldevAnswer& answer() { return answer_; }

 private:
  Result<Progress> TakeMessage(std::uint16_t type, std::uint16_t flags, std::string_view payload);

  const std::uint32_t sequence_;
  bool interrupted_ = false;
  NldevAnswer answer_;
};

// The request as it is sent: header and attributes.
std::string EncodeNldevRequest(const NldevRequest& request, std::uint32_t sequence);

}  // namespace rb::agent::rdma
