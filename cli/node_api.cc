#include "cli/node_api.h"

#include "common/runtime/http_message.h"

namespace rb::cli {
namespace {

constexpr const char* kJson = "application/json";
constexpr const char* kMergePatch = "application/merge-patch+json";

ApiRequest Post(std::string target, std::string body) {
  return {.method = "POST",
          .target = std::move(target),
          .body = std::move(body),
          .content_type = kJson};
}

Result<ApiAnswer> PatchOnce(NodeApi& api, const std::string& target, const LeaseEdit& edit) {
  RB_TRY(ApiAnswer current, Get(api, target));
  RB_TRY(const rest::Lease lease, rest::ParseLease(current.body));
  const rest::LeaseRequest from{.labels = lease.metadata.labels, .spec = lease.spec};
  rest::LeaseRequest to = from;
  RB_TRY_VOID(edit(&to));
  if (to == from) return current;
  return api.Call({.method = "PATCH",
                   .target = target,
                   .body = rest::DiffLeaseRequests(from, to),
                   .content_type = kMergePatch,
                   .if_match = current.etag});
}

}  // namespace

std::string Target(std::string_view collection, std::string_view name) {
  std::string target = "/v1/" + std::string(collection);
  if (!name.empty()) target += '/' + PercentEncode(name);
  return target;
}

Result<ApiAnswer> Get(NodeApi& api, const std::string& target) {
  return api.Call({.method = "GET", .target = target});
}

Result<ApiAnswer> CreateLease(NodeApi& api, const rest::LeaseRequest& request) {
  return api.Call(Post(Target("leases"), rest::DumpLeaseRequest(request)));
}

Result<ApiAnswer> RenewLease(NodeApi& api, std::string_view id, std::uint64_t ttl_seconds) {
  return api.Call(
      Post(Target("leases", id) + "/renew", rest::DumpRenewRequest({.ttl_seconds = ttl_seconds})));
}

Result<ApiAnswer> RevokeLease(NodeApi& api, std::string_view id,
                              const rest::RevokeRequest& request) {
  ApiRequest call = Post(Target("leases", id) + "/revoke", rest::DumpRevokeRequest(request));
  call.deadline += std::chrono::milliseconds(request.grace_ms);
  return api.Call(call);
}

Result<ApiAnswer> PatchLease(NodeApi& api, std::string_view id, const LeaseEdit& edit) {
  const std::string target = Target("leases", id);
  auto answer = PatchOnce(api, target, edit);
  if (!answer && answer.error().code == ErrorCode::kStale) answer = PatchOnce(api, target, edit);
  return answer;
}

}  // namespace rb::cli
