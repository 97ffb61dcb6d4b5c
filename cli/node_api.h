// A node's REST API as rdmactl uses it: the port, and the calls made through it.
//
// http_node_api.h is the real one, tests use a fake. What is printed is in commands.h.
// Threading: used by one thread.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include "api/rest/lease.h"
#include "common/base/result.h"

namespace rb::cli {

struct ApiRequest {
  std::string method;  // "GET"
  std::string target;  // "/v1/leases/lease-0"
  std::string body = {};
  std::string content_type = {};  // set when there is a body
  std::string if_match = {};      // an ETag, or empty
  std::chrono::milliseconds deadline{10'000};
  bool operator==(const ApiRequest&) const = default;
};

struct ApiAnswer {
  std::string body;
  std::string etag;
};

class NodeApi {
 public:
  virtual ~NodeApi() = default;

  // The answer when its status is 2xx. Errors: what the problem in the answer says, with its code
  // as the reason; kUnavailable, kDenied and kTimeout when no answer came.
  virtual Result<ApiAnswer> Call(const ApiRequest& request) = 0;
};

// "/v1/<collection>", or "/v1/<collection>/<name>" when a name is given, escaped.
std::string Target(std::string_view collection, std::string_view name = {});

Result<ApiAnswer> Get(NodeApi& api, const std::string& target);
Result<ApiAnswer> CreateLease(NodeApi& api, const rest::LeaseRequest& request);
Result<ApiAnswer> RenewLease(NodeApi& api, std::string_view id, std::uint64_t ttl_seconds);
Result<ApiAnswer> RevokeLease(NodeApi& api, std::string_view id,
                              const rest::RevokeRequest& request);

// Reads the lease, lets `edit` change it and sends the difference on condition that nobody else
// changed it meanwhile; then reads and tries once more. Sends nothing when `edit` changed nothing.
// Errors: those of `edit`, of the calls; kStale when somebody else was faster twice.
using LeaseEdit = std::function<Result<void>(rest::LeaseRequest*)>;
Result<ApiAnswer> PatchLease(NodeApi& api, std::string_view id, const LeaseEdit& edit);

}  // namespace rb::cli
