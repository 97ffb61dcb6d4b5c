#include "cli/lease_flags.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <span>
#include <string_view>

#include "cli/quantity.h"
#include "common/runtime/config.h"

namespace rb::cli {
namespace {

// Prefixes an error with the flag it came from.
template <class T>
Result<T> Of(std::string_view flag, Result<T> result) {
  if (!result) result.error().message = std::string(flag) + ": " + result.error().message;
  return result;
}

template <class E>
struct Word {
  std::string_view word;
  E value;
};
constexpr std::array kForeignClassWords{Word{"rewrite", rest::ForeignClass::kRewrite},
                                        Word{"refuse", rest::ForeignClass::kRefuse}};
constexpr std::array kPacingWords{Word{"block", rest::Pacing::kBlock},
                                  Word{"off", rest::Pacing::kOff}};
constexpr std::array kPermissionWords{Word{"deny", rest::Permission::kDeny},
                                      Word{"allow", rest::Permission::kAllow}};
constexpr std::array kSwitchWords{Word{"on", true}, Word{"off", false}};

template <class E, std::size_t N>
Result<void> SetWord(std::string_view flag, const std::string& text,
                     const std::array<Word<E>, N>& words, E* to) {
  if (text.empty()) return {};
  std::string allowed;
  for (const Word<E>& word : words) {
    if (word.word == text) {
      *to = word.value;
      return {};
    }
    allowed += (allowed.empty() ? "" : " or ") + std::string(word.word);
  }
  return Fail(ErrorCode::kInvalid, std::string(flag) + ": \"" + text + "\" is not " + allowed);
}

Result<void> ApplyDevices(const LeaseFlags& flags, rest::DeviceWish* wish) {
  if (!flags.device_count.empty()) {
    RB_TRY(const std::uint64_t count, Of("--devices", ParseCount(flags.device_count)));
    if (count > std::numeric_limits<std::uint32_t>::max()) {
      return Fail(ErrorCode::kInvalid, "--devices: too many");
    }
    wish->count = static_cast<std::uint32_t>(count);
    wish->names.clear();
  }
  if (!flags.devices.empty()) {
    if (!flags.device_count.empty()) {
      return Fail(ErrorCode::kInvalid, "--device names the devices: leave --devices out");
    }
    wish->names = flags.devices;
    wish->count = static_cast<std::uint32_t>(flags.devices.size());
  }
  if (!flags.link_layer.empty()) wish->link_layer = flags.link_layer;
  return {};
}

Result<void> ApplyLimits(const LeaseFlags& flags, rest::Limits* limits) {
  for (const wire::LimitRow& row : wire::kLimitTable) {
    const std::string& text = flags.limits.at(wire::Index(row.limit));
    if (text.empty()) continue;
    const bool bytes = row.limit == wire::Limit::kMrBytes;
    RB_TRY((*limits)[row.limit], Of(FlagOf(row), bytes ? ParseBytes(text) : ParseCount(text)));
  }
  return {};
}

Result<void> ApplyRate(const LeaseFlags& flags, rest::Rate* rate) {
  if (!flags.rate.empty()) {
    RB_TRY(rate->max_bits_per_second, Of("--rate", ParseBitRate(flags.rate)));
  }
  if (!flags.burst.empty()) {
    RB_TRY(rate->burst_bytes, Of("--burst", ParseBytes(flags.burst)));
  }
  return {};
}

Result<void> ApplyLabels(std::span<const std::string> texts, rest::Labels* labels) {
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos) {
      return Fail(ErrorCode::kInvalid, "--label: \"" + text + "\" is not key=value");
    }
    const std::string key = text.substr(0, equals);
    if (equals + 1 == text.size()) {
      labels->erase(key);
    } else {
      (*labels)[key] = text.substr(equals + 1);
    }
  }
  return {};
}

Result<void> ApplyWords(const LeaseFlags& flags, rest::LeaseSpec* spec) {
  RB_TRY_VOID(SetWord("--on-foreign-class", flags.on_foreign_class, kForeignClassWords,
                      &spec->on_foreign_class));
  RB_TRY_VOID(SetWord("--pacing", flags.pacing, kPacingWords, &spec->pacing));
  RB_TRY_VOID(SetWord("--devx", flags.devx, kPermissionWords, &spec->devx));
  RB_TRY_VOID(SetWord("--raw", flags.raw, kPermissionWords, &spec->raw));
  RB_TRY_VOID(SetWord("--unknown", flags.unknown, kPermissionWords, &spec->unknown));
  return SetWord("--accounting", flags.accounting, kSwitchWords, &spec->accounting);
}

// "/spec/limits/mr_bytes: …" -> "lease: spec.limits.mr_bytes: …": nobody typed a JSON pointer.
std::string WithoutPointer(std::string message) {
  const std::size_t colon = message.find(':');
  if (!message.starts_with('/') || colon == std::string::npos) return message;
  std::replace(message.begin(), message.begin() + static_cast<std::ptrdiff_t>(colon), '/', '.');
  return message.substr(1);
}

}  // namespace

std::string FlagOf(const wire::LimitRow& row) {
  std::string flag = std::string("--") + row.name;
  std::ranges::replace(flag, '_', '-');
  return flag;
}

Result<void> ApplyFlags(const LeaseFlags& flags, rest::LeaseRequest* request) {
  rest::LeaseSpec& spec = request->spec;
  if (!flags.tenant.empty()) spec.tenant = flags.tenant;
  if (!flags.traffic_class.empty()) {
    spec.traffic_class = flags.traffic_class == "none" ? "" : flags.traffic_class;
  }
  if (!flags.ttl.empty()) {
    RB_TRY(spec.ttl_seconds, Of("--ttl", ParseTtlSeconds(flags.ttl)));
  }
  RB_TRY_VOID(ApplyDevices(flags, &spec.devices));
  RB_TRY_VOID(ApplyLimits(flags, &spec.limits));
  RB_TRY_VOID(ApplyRate(flags, &spec.rate));
  RB_TRY_VOID(ApplyWords(flags, &spec));
  return ApplyLabels(flags.labels, &request->labels);
}

Result<void> ApplyFlags(const WorkloadFlags& flags, rest::LeaseRequest* request) {
  rest::Workload& workload = request->spec.workload;
  if (!flags.uid.empty()) {
    RB_TRY(workload.uid, Of("--uid", ParseId(flags.uid)));
  }
  workload.cgroup = flags.cgroup;
  workload.token = !flags.no_token && flags.cgroup.empty();
  return {};
}

Result<void> CheckRequest(const rest::LeaseRequest& request) {
  const auto checked = rest::ParseLeaseRequest(rest::DumpLeaseRequest(request));
  if (checked) return {};
  return Fail(ErrorCode::kInvalid, WithoutPointer(checked.error().message), checked.error().reason);
}

Result<std::uint64_t> ParseTtlSeconds(const std::string& text) {
  RB_TRY(const std::chrono::nanoseconds ttl, ParseDuration(text));
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(ttl);
  if (seconds != ttl || seconds.count() == 0) {
    return Fail(ErrorCode::kInvalid, "\"" + text + "\" is not a number of whole seconds, from 1s");
  }
  return static_cast<std::uint64_t>(seconds.count());
}

Result<std::uint32_t> ParseId(const std::string& text) {
  RB_TRY(const std::uint64_t id, ParseCount(text));
  // The last one means "no user" to the kernel.
  if (id >= std::numeric_limits<std::uint32_t>::max()) {
    return Fail(ErrorCode::kInvalid, "\"" + text + "\" is not an id from 0 to 4294967294");
  }
  return static_cast<std::uint32_t>(id);
}

}  // namespace rb::cli
