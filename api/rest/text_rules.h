// What the text fields of the API may hold. Private to api/rest.
//
// Threading: constants and pure functions.
#pragma once

#include <cstddef>
#include <string_view>

namespace rb::rest::internal {

inline constexpr std::size_t kLabelsMax = 32;

struct TextRule {
  const char* allowed;  // for the message: "1..63 of a-z 0-9 - ., first a letter or digit"
  bool (*accepts)(std::string_view text);
};

bool IsName(std::string_view text);
bool IsDeviceName(std::string_view text);
bool IsLinkLayer(std::string_view text);
bool IsLabelKey(std::string_view text);
bool IsLabelValue(std::string_view text);
bool IsReason(std::string_view text);
// Absolute, without empty, "." or ".." segments and without a slash at its end; the root itself is
// refused: a lease for every process of the machine is a mistake.
bool IsCgroupPath(std::string_view text);
bool IsAnyText(std::string_view text);

// Tenants, nodes, traffic classes.
inline constexpr TextRule kName{
    "1..63 characters of a-z, 0-9, '-' and '.', first a letter or digit", IsName};
inline constexpr TextRule kDeviceName{"1..63 characters of letters, digits, '_', '-' and '.'",
                                      IsDeviceName};
inline constexpr TextRule kLinkLayer{"\"ethernet\" or \"infiniband\"", IsLinkLayer};
inline constexpr TextRule kLabelKey{
    "1..128 characters of letters, digits, '-', '_', '.' and '/', first a letter or digit",
    IsLabelKey};
inline constexpr TextRule kLabelValue{"at most 128 bytes without control characters", IsLabelValue};
inline constexpr TextRule kReason{"1..200 bytes without control characters", IsReason};
inline constexpr TextRule kCgroupPath{
    "an absolute path below the cgroup mount, at most 1024 bytes, without '.' and '..'",
    IsCgroupPath};
// What only the agent writes: bounded, otherwise free.
inline constexpr TextRule kAnyText{"at most 65536 bytes", IsAnyText};

}  // namespace rb::rest::internal
