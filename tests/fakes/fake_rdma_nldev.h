// RDMA netlink that plays prepared answers.
//
// Header-only. Threading: thread-compatible.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "agent/rdma/nldev.h"

namespace rb::agent::rdma {

class FakeNldev final : public Nldev {
 public:
  // Plays the answers of a command in order and repeats the last one; a command without an answer
  // is one that the kernel does not know.
  Result<NldevAnswer> Ask(const NldevRequest& request) override {
    requests.push_back(request);
    const auto found = answers_.find(request.command);
    if (found == answers_.end()) return Fail(ErrorCode::kInvalid, "ask rdma netlink");
    std::vector<Result<NldevAnswer>>& queue = found->second;
    if (queue.size() == 1) return queue.front();
    Result<NldevAnswer> first = std::move(queue.front());
    queue.erase(queue.begin());
    return first;
  }

  void Add(std::uint16_t command, Result<NldevAnswer> answer) {
    answers_[command].push_back(std::move(answer));
  }

  std::vector<NldevRequest> requests;

 private:
  std::map<std::uint16_t, std::vector<Result<NldevAnswer>>> answers_;
};

}  // namespace rb::agent::rdma
