// Fuzzes every parser of api/rest: no input may crash one, what is accepted must be written and
// read back the same, and what is refused must become a problem.
//
// The first byte chooses the parser, the rest is the text. Corpus: rest_corpus/.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "api/rest/format.h"
#include "api/rest/lease.h"
#include "api/rest/node.h"
#include "api/rest/stored_lease.h"
#include "common/base/result.h"

namespace rb::rest {
namespace {

void CheckRefusal(const Error& error) {
  RB_CHECK(!error.message.empty());
  const Problem problem = ToProblem(error, "fuzz");
  RB_CHECK(problem.status >= 400 && problem.status < 600);
  const auto again = ParseProblem(DumpProblem(problem));
  RB_CHECK(again.has_value());
}

template <class Parse, class Dump>
void CheckRoundTrip(std::string_view text, Parse parse, Dump dump) {
  const auto value = parse(text);
  if (!value) return CheckRefusal(value.error());
  const auto again = parse(dump(*value));
  RB_CHECK(again.has_value() && *again == *value);
}

void FuzzLeaseRequest(std::string_view text) {
  CheckRoundTrip(text, ParseLeaseRequest, DumpLeaseRequest);
}
void FuzzLease(std::string_view text) { CheckRoundTrip(text, ParseLease, DumpLease); }
void FuzzLeaseList(std::string_view text) { CheckRoundTrip(text, ParseLeaseList, DumpLeaseList); }
void FuzzNode(std::string_view text) { CheckRoundTrip(text, ParseNode, DumpNode); }
void FuzzDevices(std::string_view text) { CheckRoundTrip(text, ParseDeviceList, DumpDeviceList); }
void FuzzProcesses(std::string_view text) {
  CheckRoundTrip(text, ParseProcessList, DumpProcessList);
}
void FuzzEvents(std::string_view text) { CheckRoundTrip(text, ParseEventList, DumpEventList); }
void FuzzProblem(std::string_view text) { CheckRoundTrip(text, ParseProblem, DumpProblem); }
void FuzzCheckpoint(std::string_view text) {
  CheckRoundTrip(text, ParseCheckpoint, DumpCheckpoint);
}

void FuzzRenewAndRevoke(std::string_view text) {
  const auto renew = ParseRenewRequest(text);
  if (renew) RB_CHECK(renew->ttl_seconds >= 1 && renew->ttl_seconds <= 604800);
  const auto revoke = ParseRevokeRequest(text);
  if (revoke) RB_CHECK(ParseRevokeRequest(DumpRevokeRequest(*revoke)).has_value());
}

// A patch that is accepted gives a request that stands on its own, and its difference leads there.
void FuzzPatch(std::string_view text) {
  LeaseRequest current;
  current.labels = {{"job", "llm-7"}};
  current.spec.tenant = "alice";
  current.spec.traffic_class = "storage";
  const auto patched = ApplyLeasePatch(current, text);
  if (!patched) return CheckRefusal(patched.error());
  RB_CHECK(ParseLeaseRequest(DumpLeaseRequest(*patched)) == *patched);
  RB_CHECK(ApplyLeasePatch(current, DiffLeaseRequests(current, *patched)) == *patched);
}

void FuzzFormat(std::string_view text) {
  const auto indented = IndentJson(text);
  if (!indented) return CheckRefusal(indented.error());
  RB_CHECK(IndentJson(*indented) == *indented);
  RB_CHECK(JsonToYaml(text).has_value());
}

constexpr std::array kTargets{FuzzLeaseRequest, FuzzPatch,   FuzzRenewAndRevoke, FuzzLease,
                              FuzzLeaseList,    FuzzNode,    FuzzDevices,        FuzzProcesses,
                              FuzzEvents,       FuzzProblem, FuzzCheckpoint,     FuzzFormat};

}  // namespace
}  // namespace rb::rest

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  // Letters, so that a corpus file can be written by hand: 'a' is the first parser.
  const auto target = static_cast<std::uint8_t>(data[0] - 'a');
  rb::rest::kTargets.at(target % rb::rest::kTargets.size())(text);
  return 0;
}
