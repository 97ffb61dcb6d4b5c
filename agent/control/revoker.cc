#include "agent/control/revoker.h"

#include <algorithm>
#include <csignal>
#include <utility>

#include "agent/rdma/revoke_file.h"
#include "common/runtime/process.h"
#include "common/runtime/timer.h"

namespace rb::agent {
namespace {

constexpr std::chrono::milliseconds kPoll{10};
// A hostile tenant can have a million descriptors in each of thousands of processes. Looking at all
// of them would put the kill off for hours, and taking them would leave the agent without
// descriptors: what is beyond these goes with its processes.
constexpr std::chrono::seconds kLookTime{1};
constexpr std::size_t kTakenFilesMax = 256;

struct TakenFile {
  UniqueFd fd;
  std::uint32_t driver_id = 0;
  rdma::UverbsFile view() const { return {.fd = fd.get(), .driver_id = driver_id}; }
};

struct Stopped {
  std::vector<TakenFile> files;
  std::size_t qps = 0;
  std::string detail;
};

std::vector<DeviceNumber> NumbersOf(const RevokeTarget& target) {
  std::vector<DeviceNumber> numbers;
  for (const RevokeDevice& device : target.devices) numbers.push_back(device.number);
  return numbers;
}

std::uint32_t DriverOf(const RevokeTarget& target, const DeviceNumber& number) {
  for (const RevokeDevice& device : target.devices) {
    if (device.number == number) return device.driver_id;
  }
  return 0;
}

void Note(std::string* detail, const Error& error) {
  if (detail->empty()) *detail = error.message;
}

// From here on no process of the lease can create anything, shim or not.
void StopCreation(Kernel kernel, const RevokeTarget& target, std::string* detail) {
  for (const RevokeDevice& device : target.devices) {
    const RdmaMax nothing{.hca_handles = 0, .hca_objects = 0};
    auto stopped = kernel.cgroups.SetRdmaMax(target.cgroup, device.name, nothing);
    const bool cannot = !stopped && (stopped.error().code == ErrorCode::kUnsupported ||
                                     stopped.error().code == ErrorCode::kNotFound);
    if (!stopped && !cannot) Note(detail, stopped.error());
  }
}

std::vector<TakenFile> TakeFiles(Kernel kernel, const RevokeTarget& target, std::string* detail) {
  std::vector<TakenFile> taken;
  const auto pids = kernel.cgroups.Processes(target.cgroup);
  if (!pids) return taken;
  const auto deadline = std::chrono::steady_clock::now() + kLookTime;
  for (const pid_t pid : *pids) {
    if (std::chrono::steady_clock::now() >= deadline) {
      Note(detail, Error{.code = ErrorCode::kTimeout,
                         .message = "too many descriptors to look at: not all were emptied"});
      break;
    }
    const auto files = kernel.files.Find(pid, NumbersOf(target));
    if (!files) continue;  // exited: its files went with it
    for (const OpenFile& file : *files) {
      if (taken.size() >= kTakenFilesMax) {
        Note(detail, Error{.code = ErrorCode::kExhausted,
                           .message = "more than " + std::to_string(kTakenFilesMax) +
                                      " descriptors: the others were not emptied"});
        return taken;
      }
      auto fd = kernel.files.Take(pid, file);
      if (fd) {
        taken.push_back({.fd = std::move(*fd), .driver_id = DriverOf(target, file.device)});
      } else if (fd.error().code != ErrorCode::kNotFound) {
        Note(detail, fd.error());
      }
    }
  }
  return taken;
}

Stopped StopAll(Kernel kernel, const RevokeTarget& target) {
  Stopped result;
  StopCreation(kernel, target, &result.detail);
  result.files = TakeFiles(kernel, target, &result.detail);
  for (const TakenFile& file : result.files) {
    auto outcome = rdma::StopQueuePairs(kernel.uverbs, file.view());
    if (outcome) {
      result.qps += outcome->stopped;
    } else {
      Note(&result.detail, outcome.error());
    }
  }
  return result;
}

std::size_t DestroyAll(Kernel kernel, const std::vector<TakenFile>& files, std::string* detail) {
  std::size_t destroyed = 0;
  for (const TakenFile& file : files) {
    auto outcome = rdma::DestroyObjects(kernel.uverbs, file.view());
    if (outcome) {
      destroyed += outcome->destroyed;
    } else {
      Note(detail, outcome.error());
    }
  }
  return destroyed;
}

void KillAll(Kernel kernel, const RevokeTarget& target, std::string* detail) {
  auto killed = kernel.cgroups.Kill(target.cgroup);
  if (killed || killed.error().code == ErrorCode::kNotFound) return;
  // A kernel without cgroup.kill: one by one. A fork that races with it is found by the next look.
  const auto pids = kernel.cgroups.Processes(target.cgroup);
  if (!pids) return;
  for (const pid_t pid : *pids) {
    const auto pidfd = OpenPidfd(pid);
    if (!pidfd) continue;
    auto sent = SendSignal(pidfd->get(), SIGKILL);
    if (!sent && sent.error().code != ErrorCode::kNotFound) Note(detail, sent.error());
  }
}

}  // namespace

Result<bool> HoldsNothing(Kernel kernel, const RevokeTarget& target) {
  if (target.cgroup.empty()) return true;
  const auto pids = kernel.cgroups.Processes(target.cgroup);
  if (!pids) {
    if (pids.error().code == ErrorCode::kNotFound) return true;  // no cgroup, no processes
    return tl::unexpected(pids.error());
  }
  const auto current = kernel.cgroups.Current(target.cgroup);
  if (current) {
    for (const RevokeDevice& device : target.devices) {
      const auto charged = current->find(device.name);
      if (charged != current->end() && charged->second.hca_handles != 0) return false;
    }
  }
  const auto deadline = std::chrono::steady_clock::now() + kLookTime;
  for (const pid_t pid : *pids) {
    if (std::chrono::steady_clock::now() >= deadline) return false;  // nobody knows: kill
    const auto files = kernel.files.Find(pid, NumbersOf(target));
    if (files && !files->empty()) return false;
  }
  return true;
}

Task<bool> Revoker::WaitUntilGone(RevokeTarget target, std::chrono::milliseconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (true) {
    auto look = [kernel = kernel_, target] { return HoldsNothing(kernel, target); };
    const auto gone = co_await pool_.Run(std::move(look));
    if (gone && *gone) co_return true;
    if (std::chrono::steady_clock::now() >= deadline) co_return false;
    co_await SleepFor(loop_, kPoll);
  }
}

Task<RevokeReport> Revoker::Revoke(RevokeTarget target) {
  RevokeReport report;
  // The empty path is the root of all cgroups: to stop and kill there would end the machine.
  report.clean = target.cgroup.empty();
  if (report.clean) co_return report;
  auto stop = [kernel = kernel_, target] { return StopAll(kernel, target); };
  Stopped stopped = co_await pool_.Run(std::move(stop));
  report.files = stopped.files.size();
  report.qps_stopped = stopped.qps;
  report.detail = stopped.detail;

  if (stopped.qps > 0) co_await SleepFor(loop_, times_.flush);

  auto destroy = [kernel = kernel_,
                  files = std::make_shared<std::vector<TakenFile>>(std::move(stopped.files))] {
    std::string detail;
    const std::size_t destroyed = DestroyAll(kernel, *files, &detail);
    files->clear();  // our duplicates would keep the contexts alive
    return std::make_pair(destroyed, detail);
  };
  const auto [destroyed, detail] = co_await pool_.Run(std::move(destroy));
  report.objects_destroyed = destroyed;
  if (report.detail.empty()) report.detail = detail;

  report.clean = co_await WaitUntilGone(target, times_.exit);
  if (report.clean) co_return report;

  report.killed = true;
  auto kill = [kernel = kernel_, target] {
    std::string failure;
    KillAll(kernel, target, &failure);
    return failure;
  };
  const std::string failure = co_await pool_.Run(std::move(kill));
  if (report.detail.empty()) report.detail = failure;
  report.clean = co_await WaitUntilGone(target, times_.kill_wait);
  co_return report;
}

}  // namespace rb::agent
