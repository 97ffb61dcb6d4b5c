#include "agent/cgroup/lease_cgroups.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <filesystem>
#include <system_error>

#include "common/base/files.h"

namespace rb::agent {
namespace {

constexpr int kCgroupDepthMax = 16;  // below a lease's cgroup; workloads make their own sub-cgroups

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = text.find(separator);
    if (end != 0) parts.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return parts;
}

template <typename T>
bool ParseNumber(std::string_view text, T* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc{} && end == text.data() + text.size();
}

Result<void> ParseCounter(std::string_view pair, RdmaCurrent* current) {
  const std::size_t equals = pair.find('=');
  const std::string_view key = pair.substr(0, equals);
  std::uint64_t value = 0;
  if (equals == std::string_view::npos || !ParseNumber(pair.substr(equals + 1), &value)) {
    return Fail(ErrorCode::kCorrupt, "rdma.current: '" + std::string(pair) + "'");
  }
  if (key == "hca_handle") current->hca_handles = value;
  if (key == "hca_object") current->hca_objects = value;
  return {};
}

std::string Number(const std::optional<std::uint64_t>& value) {
  return value ? std::to_string(*value) : "max";
}

bool HasWord(std::string_view text, std::string_view word) {
  for (const std::string_view line : Split(text, '\n')) {
    for (const std::string_view part : Split(line, ' ')) {
      if (part == word) return true;
    }
  }
  return false;
}

}  // namespace

Result<std::map<std::string, RdmaCurrent>> ParseRdmaCurrent(std::string_view text) {
  std::map<std::string, RdmaCurrent> devices;
  for (const std::string_view line : Split(text, '\n')) {
    const std::vector<std::string_view> words = Split(line, ' ');
    if (words.empty()) continue;
    RdmaCurrent current;
    for (std::size_t i = 1; i < words.size(); ++i) {
      RB_TRY_VOID(ParseCounter(words[i], &current));
    }
    devices[std::string(words[0])] = current;
  }
  return devices;
}

std::string FormatRdmaMax(const std::string& device, const RdmaMax& max) {
  return device + " hca_handle=" + Number(max.hca_handles) +
         " hca_object=" + Number(max.hca_objects) + "\n";
}

Result<bool> LinuxLeaseCgroups::Prepare() {
  auto controllers = ReadSmallFile(mount_ + "/cgroup.controllers");
  if (!controllers) {
    return Fail(ErrorCode::kUnsupported,
                "no cgroup2 at " + mount_ + ": " + controllers.error().message);
  }
  const std::string parent = mount_ + "/" + parent_;
  if (::mkdir(parent.c_str(), 0755) != 0 && errno != EEXIST) {
    return FailErrno("mkdir " + parent, errno);
  }
  if (!HasWord(*controllers, "rdma")) return false;
  RB_TRY_VOID(WriteKernelFile(mount_ + "/cgroup.subtree_control", "+rdma"));
  RB_TRY_VOID(WriteKernelFile(parent + "/cgroup.subtree_control", "+rdma"));
  return true;
}

Result<std::string> LinuxLeaseCgroups::Create(const std::string& lease) {
  const std::string path = "/" + parent_ + "/" + lease;
  if (::mkdir((mount_ + path).c_str(), 0755) != 0 && errno != EEXIST) {
    return FailErrno("mkdir " + mount_ + path, errno);
  }
  return path;
}

Result<void> LinuxLeaseCgroups::Enter(const std::string& path, pid_t pid) {
  return WriteKernelFile(mount_ + path + "/cgroup.procs", std::to_string(pid));
}

Result<std::vector<pid_t>> LinuxLeaseCgroups::Processes(const std::string& path) {
  std::vector<pid_t> pids;
  RB_TRY_VOID(CollectProcesses(mount_ + path, 0, &pids));
  return pids;
}

Result<void> LinuxLeaseCgroups::CollectProcesses(const std::string& directory, int depth,
                                                 std::vector<pid_t>* pids) {
  RB_TRY(const std::string text, ReadSmallFile(directory + "/cgroup.procs"));
  for (const std::string_view line : Split(text, '\n')) {
    pid_t pid = 0;
    // 0 is a process of another pid namespace: it cannot be named, only killed with the cgroup.
    if (ParseNumber(line, &pid) && pid > 0) pids->push_back(pid);
  }
  if (depth >= kCgroupDepthMax) return {};
  std::error_code failed;
  // increment(), not a range loop: that one throws when the cgroup vanishes meanwhile.
  for (std::filesystem::directory_iterator entry(directory, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    std::error_code vanished;
    if (!entry->is_directory(vanished)) continue;
    // A child that vanishes meanwhile has no processes.
    auto below = CollectProcesses(entry->path().string(), depth + 1, pids);
    if (!below && below.error().code != ErrorCode::kNotFound) return below;
  }
  return {};
}

Result<void> LinuxLeaseCgroups::SetRdmaMax(const std::string& path, const std::string& device,
                                           const RdmaMax& max) {
  auto written = WriteKernelFile(mount_ + path + "/rdma.max", FormatRdmaMax(device, max));
  if (!written && written.error().code == ErrorCode::kNotFound) {
    // No file: the controller is not enabled here. No device: the write says ENODEV.
    const bool has_file = ::access((mount_ + path + "/rdma.max").c_str(), F_OK) == 0;
    if (!has_file) return Fail(ErrorCode::kUnsupported, "rdma.max: no rdma controller for " + path);
  }
  return written;
}

Result<std::map<std::string, RdmaCurrent>> LinuxLeaseCgroups::Current(const std::string& path) {
  RB_TRY(const std::string text, ReadSmallFile(mount_ + path + "/rdma.current"));
  return ParseRdmaCurrent(text);
}

Result<void> LinuxLeaseCgroups::Kill(const std::string& path) {
  auto killed = WriteKernelFile(mount_ + path + "/cgroup.kill", "1");
  if (!killed && killed.error().code == ErrorCode::kNotFound &&
      ::access((mount_ + path).c_str(), F_OK) == 0) {
    return Fail(ErrorCode::kUnsupported, "cgroup.kill: this kernel is older than 5.14");
  }
  return killed;
}

// Linux (seen on 6.1) keeps the limits of a removed cgroup that holds nothing on its device's list,
// where they dangle: removing the device later corrupts the list and panics. Without limits there
// is nothing to keep.
void LinuxLeaseCgroups::LiftLimits(const std::string& directory) {
  const auto text = ReadSmallFile(directory + "/rdma.max");
  if (!text) return;
  for (const std::string_view line : Split(*text, '\n')) {
    const std::string device(line.substr(0, line.find(' ')));
    (void)WriteKernelFile(directory + "/rdma.max", FormatRdmaMax(device, {}));
  }
}

Result<void> LinuxLeaseCgroups::Remove(const std::string& path) {
  const std::string directory = mount_ + path;
  LiftLimits(directory);
  // Sub-cgroups that the workload left behind go first, deepest first.
  std::vector<std::string> below;
  std::error_code failed;
  for (std::filesystem::recursive_directory_iterator entry(directory, failed), end;
       !failed && entry != end; entry.increment(failed)) {
    std::error_code vanished;
    if (entry->is_directory(vanished)) below.push_back(entry->path().string());
  }
  for (auto child = below.rbegin(); child != below.rend(); ++child) ::rmdir(child->c_str());
  if (::rmdir(directory.c_str()) != 0 && errno != ENOENT) {
    return FailErrno("rmdir " + directory, errno);
  }
  return {};
}

}  // namespace rb::agent
