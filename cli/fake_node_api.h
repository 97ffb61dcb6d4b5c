// A node API that answers what a test put there and remembers what it was asked.
// Threading: one thread.
#pragma once

#include <deque>
#include <functional>
#include <vector>

#include "cli/node_api.h"

namespace rb::cli {

class FakeNodeApi final : public NodeApi {
 public:
  Result<ApiAnswer> Call(const ApiRequest& request) override {
    requests.push_back(request);
    if (on_call) on_call(request);
    if (answers.empty()) return Fail(ErrorCode::kInternal, "no answer was prepared");
    auto answer = answers.front();
    answers.pop_front();
    return answer;
  }

  void Answer(std::string body, std::string etag = "") {
    answers.emplace_back(ApiAnswer{.body = std::move(body), .etag = std::move(etag)});
  }
  void Refuse(ErrorCode code, std::string message) {
    answers.emplace_back(Fail(code, std::move(message)));
  }

  std::deque<Result<ApiAnswer>> answers;
  std::vector<ApiRequest> requests;
  std::function<void(const ApiRequest&)> on_call;
};

}  // namespace rb::cli
