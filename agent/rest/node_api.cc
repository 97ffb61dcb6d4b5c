#include "agent/rest/node_api.h"

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "api/rest/lease.h"
#include "common/base/random.h"

namespace rb::agent {
namespace {

constexpr std::size_t kEventsPerPage = 1000;
constexpr std::size_t kRequestIdBytes = 8;

HttpResponse Json(unsigned status, std::string body) {
  return {
      .status = status, .headers = {{"Content-Type", "application/json"}}, .body = std::move(body)};
}

HttpResponse Refused(const Error& error) {
  const rest::Problem problem = rest::ToProblem(error, RandomHex(kRequestIdBytes));
  return {.status = problem.status,
          .headers = {{"Content-Type", std::string(rest::kProblemContentType)}},
          .body = rest::DumpProblem(problem)};
}

Error Plain(ErrorCode code, std::string message, std::string reason) {
  return {.code = code, .message = std::move(message), .reason = std::move(reason)};
}

// Nothing but the named query parameters, each once: a typo must not pass.
std::optional<Error> CheckQuery(const HttpRequest& request,
                                std::initializer_list<std::string_view> known) {
  std::vector<std::string_view> seen;
  for (const auto& [name, value] : request.query) {
    if (std::ranges::find(known, name) == known.end()) {
      return Plain(ErrorCode::kInvalid, "query parameter '" + name + "': unknown", "unknown_field");
    }
    if (std::ranges::find(seen, name) != seen.end()) {
      return Plain(ErrorCode::kInvalid, "query parameter '" + name + "': twice", "malformed");
    }
    seen.emplace_back(name);
  }
  return std::nullopt;
}

// Absent: `fallback`. Errors: not a number, or above `max`.
Result<std::uint64_t> NumberQuery(const HttpRequest& request, std::string_view name,
                                  std::uint64_t fallback, std::uint64_t max) {
  const std::string* text = request.Query(name);
  if (text == nullptr) return fallback;
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc{} || end != text->data() + text->size() || value > max) {
    return Fail(ErrorCode::kInvalid,
                "query parameter '" + std::string(name) + "': a number from 0 to " +
                    std::to_string(max) + " is allowed",
                "out_of_range");
  }
  return value;
}

// Media types do not mind case (RFC 9110); `allowed` is in lower case.
bool HasContentType(const HttpRequest& request, std::initializer_list<std::string_view> allowed) {
  const std::string* type = request.Header("content-type");
  if (type == nullptr) return false;
  std::string essence = type->substr(0, type->find(';'));
  while (essence.ends_with(' ')) essence.pop_back();
  for (char& c : essence) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return std::ranges::find(allowed, essence) != allowed.end();
}

HttpResponse WrongContentType(std::string_view allowed) {
  return Refused(Plain(ErrorCode::kInvalid, "Content-Type must be " + std::string(allowed),
                       "unsupported_media_type"));
}

// Absent: nothing. Errors: no such phase; an empty list would hide the typo.
Result<std::optional<rest::Phase>> PhaseQuery(const HttpRequest& request) {
  const std::string* text = request.Query("phase");
  if (text == nullptr) return std::optional<rest::Phase>{};
  for (const rest::Phase phase : kPhases) {
    if (rest::Name(phase) == *text) return std::optional(phase);
  }
  return Fail(ErrorCode::kInvalid, "query parameter 'phase': '" + *text + "' is not one",
              "out_of_range");
}

// The revision in If-Match: `"12"`, or nothing for `*`.
Result<std::optional<std::uint64_t>> RevisionOf(const std::string& if_match) {
  if (if_match == "*") return std::optional<std::uint64_t>{};
  std::uint64_t revision = 0;
  const bool quoted = if_match.size() > 2 && if_match.front() == '"' && if_match.back() == '"';
  if (quoted) {
    const char* first = if_match.data() + 1;
    const char* last = if_match.data() + if_match.size() - 1;
    const auto [end, error] = std::from_chars(first, last, revision);
    if (error == std::errc{} && end == last) return std::optional(revision);
  }
  return Fail(ErrorCode::kInvalid, "If-Match: '" + if_match + "' is not an ETag of a lease or *",
              "malformed");
}

const std::string& ParamOf(const HttpRequest& request, std::string_view name) {
  const std::string* value = request.Param(name);
  RB_CHECK(value != nullptr);  // the router matched the pattern that has it
  return *value;
}

}  // namespace

NodeApi::NodeApi(Parts parts) : parts_(std::move(parts)), started_at_(parts_.clock.Boot()) {
  AddRoutes();
}

void NodeApi::AddRoutes() {
  using Method = Task<HttpResponse> (NodeApi::*)(HttpRequest);
  const auto add = [this](std::string_view method, std::string_view pattern, Method handler) {
    router_.Add(method, pattern, [this, handler](HttpRequest request) {
      return (this->*handler)(std::move(request));
    });
  };
  add("GET", "/v1/node", &NodeApi::GetNode);
  add("GET", "/v1/devices", &NodeApi::ListDevices);
  add("GET", "/v1/devices/{name}", &NodeApi::GetDevice);
  add("GET", "/v1/processes", &NodeApi::ListProcesses);
  add("GET", "/v1/events", &NodeApi::ListEvents);
  add("POST", "/v1/leases", &NodeApi::CreateLease);
  add("GET", "/v1/leases", &NodeApi::ListLeases);
  add("GET", "/v1/leases/{id}", &NodeApi::GetLease);
  add("PATCH", "/v1/leases/{id}", &NodeApi::PatchLease);
  add("POST", "/v1/leases/{id}/renew", &NodeApi::RenewLease);
  add("POST", "/v1/leases/{id}/revoke", &NodeApi::RevokeLease);
}

Task<HttpResponse> NodeApi::Handle(HttpRequest request) {
  const std::string method = request.method;
  const std::string route = router_.Find(request.method, request.path).pattern;
  HttpResponse response = co_await router_.Handle(std::move(request));
  parts_.requests.Increment({{"route", route.empty() ? "none" : route},
                             {"method", route.empty() ? "any" : method},
                             {"status", std::to_string(response.status)}});
  co_return response;
}

Task<HttpResponse> NodeApi::GetNode(HttpRequest request) {
  if (auto bad = CheckQuery(request, {})) co_return Refused(*bad);
  const auto uptime =
      std::chrono::duration_cast<std::chrono::seconds>(parts_.clock.Boot() - started_at_);
  co_return Json(200, rest::DumpNode(NodeBody(parts_.node, parts_.host, parts_.leases.live_count(),
                                              static_cast<std::uint64_t>(uptime.count()))));
}

// An empty name in the answer: no such device.
Task<rest::Device> NodeApi::ReadDevice(std::string name) {
  auto count = [&resources = parts_.resources, name] { return resources.Summary(name); };
  const auto counts = co_await parts_.pool.Run(std::move(count));
  const rdma::Device* device = parts_.node.inventory().Find(name);
  if (device == nullptr) co_return rest::Device{};
  co_return DeviceBody(*device, counts ? *counts : rdma::ResourceCounts{}, parts_.leases);
}

Task<HttpResponse> NodeApi::ListDevices(HttpRequest request) {
  if (auto bad = CheckQuery(request, {})) co_return Refused(*bad);
  std::vector<std::string> names;
  for (const rdma::Device& device : parts_.node.inventory().devices) names.push_back(device.name);
  std::vector<rest::Device> devices;
  for (const std::string& name : names) {
    rest::Device device = co_await ReadDevice(name);
    if (!device.name.empty()) devices.push_back(std::move(device));
  }
  co_return Json(200, rest::DumpDeviceList(devices));
}

Task<HttpResponse> NodeApi::GetDevice(HttpRequest request) {
  if (auto bad = CheckQuery(request, {})) co_return Refused(*bad);
  const std::string name = ParamOf(request, "name");
  const rest::Device device = co_await ReadDevice(name);
  if (device.name.empty()) {
    co_return Refused(Plain(ErrorCode::kNotFound, "device " + name + ": not on this node", ""));
  }
  co_return Json(200, rest::DumpDevice(device));
}

Task<HttpResponse> NodeApi::ListProcesses(HttpRequest request) {
  if (auto bad = CheckQuery(request, {"lease"})) co_return Refused(*bad);
  const std::string* lease = request.Query("lease");
  std::vector<rest::Process> processes;
  for (const Attachment& attachment : parts_.attachments.List()) {
    if (lease != nullptr && attachment.lease != *lease) continue;
    processes.push_back(ProcessBody(attachment, parts_.leases));
  }
  co_return Json(200, rest::DumpProcessList(processes));
}

Task<HttpResponse> NodeApi::ListEvents(HttpRequest request) {
  if (auto bad = CheckQuery(request, {"since", "limit"})) co_return Refused(*bad);
  constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
  const auto since = NumberQuery(request, "since", 0, kMax);
  const auto limit = NumberQuery(request, "limit", kEventsPerPage, kEventsMax);
  if (!since) co_return Refused(since.error());
  if (!limit) co_return Refused(limit.error());
  co_return Json(200, rest::DumpEventList(parts_.events.Since(*since, *limit)));
}

HttpResponse NodeApi::LeaseResponse(unsigned status, const std::string& id, std::string token) {
  const LeaseRecord* lease = parts_.leases.Find(id);
  if (lease == nullptr) return Refused(Plain(ErrorCode::kNotFound, "lease " + id, ""));
  rest::Lease body =
      ToBody(*lease, parts_.node.traits().name, parts_.clock.Boot(),
             parts_.node.traits().has_rdma_controller, parts_.attachments.CountOf(id));
  body.status.token = std::move(token);
  HttpResponse response = Json(status, rest::DumpLease(body));
  response.headers.emplace_back("ETag", "\"" + std::to_string(lease->metadata.revision) + "\"");
  if (status == 201) response.headers.emplace_back("Location", "/v1/leases/" + id);
  return response;
}

Task<HttpResponse> NodeApi::CreateLease(HttpRequest request) {
  if (auto bad = CheckQuery(request, {})) co_return Refused(*bad);
  if (!HasContentType(request, {"application/json"}))
    co_return WrongContentType("application/json");
  auto parsed = rest::ParseLeaseRequest(request.body);
  if (!parsed) co_return Refused(parsed.error());
  auto created = co_await parts_.service.Create(std::move(*parsed));
  if (!created) co_return Refused(created.error());
  co_return LeaseResponse(201, created->id, created->token);
}

Task<HttpResponse> NodeApi::ListLeases(HttpRequest request) {
  if (auto bad = CheckQuery(request, {"tenant", "phase"})) co_return Refused(*bad);
  const std::string* tenant = request.Query("tenant");
  const auto phase = PhaseQuery(request);
  if (!phase) co_return Refused(phase.error());
  std::vector<rest::Lease> list;
  for (const LeaseRecord* lease : parts_.leases.All()) {
    if (tenant != nullptr && lease->spec.tenant != *tenant) continue;
    if (*phase && lease->phase != **phase) continue;
    list.push_back(ToBody(*lease, parts_.node.traits().name, parts_.clock.Boot(),
                          parts_.node.traits().has_rdma_controller,
                          parts_.attachments.CountOf(lease->id())));
  }
  co_return Json(200, rest::DumpLeaseList(list));
}

Task<HttpResponse> NodeApi::GetLease(HttpRequest request) {
  if (auto bad = CheckQuery(request, {})) co_return Refused(*bad);
  co_return LeaseResponse(200, ParamOf(request, "id"), {});
}

Task<HttpResponse> NodeApi::PatchLease(HttpRequest request) {
  if (auto bad = CheckQuery(request, {})) co_return Refused(*bad);
  if (!HasContentType(request, {"application/merge-patch+json", "application/json"})) {
    co_return WrongContentType("application/merge-patch+json");
  }
  const std::string* if_match = request.Header("if-match");
  if (if_match == nullptr) {
    co_return Refused(Plain(ErrorCode::kInvalid,
                            "send If-Match with the lease's ETag, or * to change it in any state",
                            "precondition_required"));
  }
  const auto revision = RevisionOf(*if_match);
  if (!revision) co_return Refused(revision.error());
  const std::string id = ParamOf(request, "id");
  const auto patched = co_await parts_.service.Patch(id, *revision, request.body);
  if (!patched) co_return Refused(patched.error());
  co_return LeaseResponse(200, id, {});
}

Task<HttpResponse> NodeApi::RenewLease(HttpRequest request) {
  if (auto bad = CheckQuery(request, {})) co_return Refused(*bad);
  if (!request.body.empty() && !HasContentType(request, {"application/json"})) {
    co_return WrongContentType("application/json");
  }
  const auto renew = rest::ParseRenewRequest(request.body);
  if (!renew) co_return Refused(renew.error());
  const std::string id = ParamOf(request, "id");
  const auto renewed = co_await parts_.service.Renew(id, renew->ttl_seconds);
  if (!renewed) co_return Refused(renewed.error());
  co_return LeaseResponse(200, id, {});
}

Task<HttpResponse> NodeApi::RevokeLease(HttpRequest request) {
  if (auto bad = CheckQuery(request, {})) co_return Refused(*bad);
  if (!request.body.empty() && !HasContentType(request, {"application/json"})) {
    co_return WrongContentType("application/json");
  }
  auto revoke = rest::ParseRevokeRequest(request.body);
  if (!revoke) co_return Refused(revoke.error());
  const std::string id = ParamOf(request, "id");
  const auto revoked = co_await parts_.service.Revoke(id, std::move(*revoke));
  if (!revoked) co_return Refused(revoked.error());
  co_return LeaseResponse(200, id, {});
}

}  // namespace rb::agent
