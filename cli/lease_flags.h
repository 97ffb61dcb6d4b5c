// The flags that say what a lease should be, shared by `lease create`, `lease patch` and `run`.
//
// They hold text as it was typed: turning it into values is here, finding it in the arguments is
// options.cc. Threading: values and pure functions.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "api/rest/lease.h"
#include "api/wire/limit_table.h"
#include "common/base/result.h"

namespace rb::cli {

// Empty or unset: the flag was not given.
struct LeaseFlags {
  std::string tenant;
  std::vector<std::string> devices;
  std::string device_count;
  std::string link_layer;
  std::array<std::string, wire::kLimitCount> limits;  // by wire::Index(Limit)
  std::string traffic_class;                          // "none" takes the class away
  std::string on_foreign_class;
  std::string rate;  // "0" takes the rate away
  std::string burst;
  std::string pacing;
  std::string devx;
  std::string raw;
  std::string unknown;
  std::string accounting;  // "on" | "off"
  std::string ttl;
  std::vector<std::string> labels;  // "key=value"; "key=" takes the label away
  bool operator==(const LeaseFlags&) const = default;
};

// Who may use the lease; `lease create` only.
struct WorkloadFlags {
  std::string uid = {};
  std::string cgroup = {};
  bool no_token = false;  // with a uid: every process of the user is the workload
};

// "--mr-bytes" for a row of wire::kLimitTable.
std::string FlagOf(const wire::LimitRow& row);

// Sets in `request` what the flags say and leaves the rest.
// Errors: kInvalid, "--rate: …" names the flag.
Result<void> ApplyFlags(const LeaseFlags& flags, rest::LeaseRequest* request);
Result<void> ApplyFlags(const WorkloadFlags& flags, rest::LeaseRequest* request);

// Holds a finished request against the API's own rules, so that a mistake is found before a call.
Result<void> CheckRequest(const rest::LeaseRequest& request);

// "1h" -> 3600. Errors: kInvalid; also for less than a second or fractions of one.
Result<std::uint64_t> ParseTtlSeconds(const std::string& text);

// A user or group id in digits.
Result<std::uint32_t> ParseId(const std::string& text);

}  // namespace rb::cli
