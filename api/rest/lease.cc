#include "api/rest/lease.h"

#include "api/rest/json.h"
#include "api/rest/lease_fields.h"
#include "api/rest/reader.h"
#include "api/rest/writer.h"

namespace rb::rest {
namespace {

using internal::Json;

struct RenewFields {
  template <class Io, class T>
  void operator()(Io& io, T& request) const {
    io.Integer("ttl_seconds", request.ttl_seconds, internal::kTtlRange);
  }
};

struct RevokeFields {
  template <class Io, class T>
  void operator()(Io& io, T& request) const {
    io.Integer("grace_ms", request.grace_ms, internal::kGraceRange);
    io.OptionalText("reason", request.reason, internal::kReason);
  }
};

constexpr std::size_t kListMax = 1'000'000;

// RFC 7386 backwards: null for what is gone, the new value for what is new or another.
Json MergeDiff(const Json& from, const Json& to) {
  Json patch = Json::object();
  for (const auto& [key, value] : from.items()) {
    if (!to.contains(key)) patch[key] = nullptr;
  }
  for (const auto& [key, value] : to.items()) {
    const auto before = from.find(key);
    if (before == from.end()) {
      patch[key] = value;
    } else if (*before != value) {
      const bool objects = before->is_object() && value.is_object();
      patch[key] = objects ? MergeDiff(*before, value) : value;
    }
  }
  return patch;
}

}  // namespace

std::string_view Name(Phase phase) {
  return internal::kPhaseNames.at(static_cast<std::size_t>(phase));
}

bool IsEnded(Phase phase) {
  switch (phase) {
    case Phase::kPending:
    case Phase::kActive:
    case Phase::kDraining:
      return false;
    case Phase::kReleased:
    case Phase::kExpired:
    case Phase::kRevoked:
    case Phase::kFailed:
      return true;
  }
  return true;
}

Limits::Limits() : values{} {
  for (const wire::LimitRow& row : wire::kLimitTable) {
    values.at(wire::Index(row.limit)) = row.default_value;
  }
}

Result<LeaseRequest> ParseLeaseRequest(std::string_view json) {
  return internal::Read<LeaseRequest>(json, internal::LeaseRequestFields{},
                                      internal::kRequestBytesMax);
}

Result<LeaseRequest> ApplyLeasePatch(const LeaseRequest& current, std::string_view patch) {
  RB_TRY(const Json change, internal::ParseJson(patch, internal::kRequestBytesMax));
  // RFC 7386 lets a patch that is no object replace everything; here that is only a mistake.
  if (!change.is_object()) {
    return Fail(ErrorCode::kInvalid, "body: a merge patch is an object", "wrong_type");
  }
  RB_TRY(Json merged, internal::ParseJson(DumpLeaseRequest(current), internal::kRequestBytesMax));
  merged.merge_patch(change);
  return internal::ReadTree<LeaseRequest>(merged, internal::LeaseRequestFields{});
}

std::string DiffLeaseRequests(const LeaseRequest& from, const LeaseRequest& to) {
  const internal::LeaseRequestFields fields;
  return internal::DumpJson(MergeDiff(Json(internal::Writer::Write(from, fields)),
                                      Json(internal::Writer::Write(to, fields))));
}

std::string DumpLease(const Lease& lease) { return internal::Dump(lease, internal::LeaseFields{}); }

std::string DumpLeaseList(const std::vector<Lease>& leases) {
  return internal::Dump(leases, internal::ListFields{internal::LeaseFields{}, kListMax});
}

std::string DumpLeaseRequest(const LeaseRequest& request) {
  return internal::Dump(request, internal::LeaseRequestFields{});
}

Result<Lease> ParseLease(std::string_view json) {
  return internal::Read<Lease>(json, internal::LeaseFields{}, internal::kAnswerBytesMax);
}

Result<std::vector<Lease>> ParseLeaseList(std::string_view json) {
  return internal::Read<std::vector<Lease>>(
      json, internal::ListFields{internal::LeaseFields{}, kListMax}, internal::kAnswerBytesMax);
}

Result<RenewRequest> ParseRenewRequest(std::string_view json) {
  if (json.empty()) return RenewRequest{};
  return internal::Read<RenewRequest>(json, RenewFields{}, internal::kRequestBytesMax);
}

Result<RevokeRequest> ParseRevokeRequest(std::string_view json) {
  if (json.empty()) return RevokeRequest{};
  return internal::Read<RevokeRequest>(json, RevokeFields{}, internal::kRequestBytesMax);
}

std::string DumpRenewRequest(const RenewRequest& request) {
  return internal::Dump(request, RenewFields{});
}

std::string DumpRevokeRequest(const RevokeRequest& request) {
  return internal::Dump(request, RevokeFields{});
}

}  // namespace rb::rest
