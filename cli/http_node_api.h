// The node API over the agent's admin socket. Implements NodeApi (node_api.h).
//
// Threading: used by one thread; every call blocks up to its deadline.
#pragma once

#include <string>

#include "cli/node_api.h"
#include "common/runtime/http_message.h"

namespace rb::cli {

class HttpNodeApi final : public NodeApi {
 public:
  explicit HttpNodeApi(std::string socket_path) : socket_path_(std::move(socket_path)) {}
  Result<ApiAnswer> Call(const ApiRequest& request) override;

 private:
  std::string socket_path_;
};

// The pure half: an answer, or the error that a status outside 2xx stands for.
Result<ApiAnswer> ReadAnswer(const HttpResponse& response);

}  // namespace rb::cli
