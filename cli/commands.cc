#include "cli/commands.h"

#include <ostream>

#include "api/rest/format.h"
#include "cli/quantity.h"
#include "cli/show.h"
#include "common/runtime/config.h"

namespace rb::cli {
namespace {

// Prints an answer's body: as it is for programs, through `parse` and `show` for people.
template <class Parse, class Show>
Result<void> Print(const Output& output, const std::string& body, Parse parse, Show show) {
  if (output.format == Format::kTable) {
    RB_TRY(const auto value, parse(body));
    output.out << show(value);
    return {};
  }
  const bool json = output.format == Format::kJson;
  RB_TRY(const std::string text, json ? rest::IndentJson(body) : rest::JsonToYaml(body));
  output.out << text;
  return {};
}

std::string ShowOneLease(const rest::Lease& lease) { return ShowLeases({lease}); }
std::string ShowOneDevice(const rest::Device& device) { return ShowDevices({device}); }

Result<void> PrintLease(const Output& output, const ApiAnswer& answer) {
  return Print(output, answer.body, rest::ParseLease, ShowOneLease);
}

// Points at the list that has the right name.
Error WithHint(Error error, Kind kind) {
  if (error.code == ErrorCode::kNotFound) {
    error.message +=
        std::string("; see: rdmactl get ") + (kind == Kind::kDevices ? "devices" : "leases");
  }
  return error;
}

Result<ApiAnswer> ForLease(Result<ApiAnswer> answer) {
  if (!answer) return tl::unexpected<Error>(WithHint(answer.error(), Kind::kLeases));
  return answer;
}

Result<void> GetOne(const GetOptions& options, NodeApi& api, const Output& output) {
  const bool lease = options.kind == Kind::kLeases;
  const auto answer = Get(api, Target(lease ? "leases" : "devices", options.name));
  if (!answer) return tl::unexpected<Error>(WithHint(answer.error(), options.kind));
  if (lease) {
    return Print(output, answer->body, rest::ParseLease,
                 options.detailed ? DescribeLease : ShowOneLease);
  }
  return Print(output, answer->body, rest::ParseDevice,
               options.detailed ? DescribeDevice : ShowOneDevice);
}

Result<std::string> EventTarget(const GetOptions& options) {
  std::string query;
  for (const auto& [name, text] : {std::pair{"since", options.since}, {"limit", options.limit}}) {
    if (text.empty()) continue;
    const auto number = ParseCount(text);
    if (!number) {
      return Fail(ErrorCode::kInvalid, std::string("--") + name + ": " + number.error().message);
    }
    query += (query.empty() ? "?" : "&") + std::string(name) + "=" + std::to_string(*number);
  }
  return Target("events") + query;
}

}  // namespace

Result<void> RunGet(const GetOptions& options, NodeApi& api, const Output& output) {
  if (!options.name.empty()) return GetOne(options, api, output);
  switch (options.kind) {
    case Kind::kLeases: {
      RB_TRY(const ApiAnswer answer, Get(api, Target("leases")));
      return Print(output, answer.body, rest::ParseLeaseList, ShowLeases);
    }
    case Kind::kDevices: {
      RB_TRY(const ApiAnswer answer, Get(api, Target("devices")));
      return Print(output, answer.body, rest::ParseDeviceList, ShowDevices);
    }
    case Kind::kNode: {
      RB_TRY(const ApiAnswer answer, Get(api, Target("node")));
      return Print(output, answer.body, rest::ParseNode, ShowNode);
    }
    case Kind::kProcesses: {
      RB_TRY(const ApiAnswer answer, Get(api, Target("processes")));
      return Print(output, answer.body, rest::ParseProcessList, ShowProcesses);
    }
    case Kind::kEvents: {
      RB_TRY(const std::string target, EventTarget(options));
      RB_TRY(const ApiAnswer answer, Get(api, target));
      return Print(output, answer.body, rest::ParseEventList, ShowEvents);
    }
  }
  return {};
}

Result<void> RunCreate(const CreateOptions& options, NodeApi& api, const Output& output) {
  rest::LeaseRequest request;
  RB_TRY_VOID(ApplyFlags(options.lease, &request));
  RB_TRY_VOID(ApplyFlags(options.workload, &request));
  RB_TRY_VOID(CheckRequest(request));
  RB_TRY(const ApiAnswer answer, CreateLease(api, request));
  return Print(output, answer.body, rest::ParseLease, ShowCreated);
}

Result<void> RunPatch(const PatchOptions& options, NodeApi& api, const Output& output) {
  if (options.lease == LeaseFlags{}) {
    return Fail(ErrorCode::kInvalid,
                "lease patch: nothing to change; say what, as in --rate 5MiB/s or --qps 8");
  }
  const auto edit = [&options](rest::LeaseRequest* request) -> Result<void> {
    RB_TRY_VOID(ApplyFlags(options.lease, request));
    return CheckRequest(*request);
  };
  RB_TRY(const ApiAnswer answer, ForLease(PatchLease(api, options.id, edit)));
  return PrintLease(output, answer);
}

Result<void> RunRenew(const RenewOptions& options, NodeApi& api, const Output& output) {
  auto ttl = ParseTtlSeconds(options.ttl);
  if (!ttl) return Fail(ErrorCode::kInvalid, "--ttl: " + ttl.error().message);
  RB_TRY(const ApiAnswer answer, ForLease(RenewLease(api, options.id, *ttl)));
  return PrintLease(output, answer);
}

Result<void> RunRevoke(const RevokeOptions& options, NodeApi& api, const Output& output) {
  const auto grace = ParseDuration(options.grace);
  if (!grace) return Fail(ErrorCode::kInvalid, "--grace: " + grace.error().message);
  const auto grace_ms = std::chrono::duration_cast<std::chrono::milliseconds>(*grace);
  const rest::RevokeRequest request{.grace_ms = static_cast<std::uint64_t>(grace_ms.count()),
                                    .reason = options.reason};
  RB_TRY(const ApiAnswer answer, ForLease(RevokeLease(api, options.id, request)));
  return PrintLease(output, answer);
}

}  // namespace rb::cli
