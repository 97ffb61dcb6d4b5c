#include "cli/run_command.h"

#include <algorithm>
#include <ostream>

namespace rb::cli {
namespace {

using std::chrono::milliseconds;

constexpr int kReleaseTries = 4;
constexpr milliseconds kReleasePause{500};
constexpr milliseconds kRenewRetry{2'000};
// Wait() takes milliseconds as an int below; an hour is as good as for ever.
constexpr milliseconds kForever{3'600'000};

void Say(const RunPorts& ports, const std::string& text) {
  ports.messages << "rdmactl: " << text << '\n' << std::flush;
}

// Renews one lease in time. Runs on the thread that waits for the command.
class Renewal {
 public:
  Renewal(const RunPorts& ports, std::string id, std::uint64_t ttl_seconds)
      : ports_(ports), id_(std::move(id)), ttl_seconds_(ttl_seconds) {
    Schedule(Half());
  }

  milliseconds TimeLeft() const {
    if (given_up_) return kForever;
    const auto left = std::chrono::ceil<milliseconds>(next_ - ports_.clock.Boot());
    return std::clamp(left, milliseconds(0), kForever);
  }

  void RenewIfDue() {
    if (given_up_ || ports_.clock.Boot() < next_) return;
    const auto renewed = RenewLease(ports_.api, id_, ttl_seconds_);
    if (renewed) {
      complained_ = false;
      Schedule(Half());
      return;
    }
    Complain(renewed.error());
    Schedule(std::min(kRenewRetry, Half()));
  }

 private:
  milliseconds Half() const {
    return std::max(milliseconds(ttl_seconds_ * 500), milliseconds(500));
  }
  void Schedule(milliseconds from_now) { next_ = ports_.clock.Boot() + from_now; }

  void Complain(const Error& error) {
    // The lease is over: whoever ended it also takes care of the command.
    given_up_ = error.code == ErrorCode::kNotFound || error.code == ErrorCode::kConflict;
    if (!complained_) Say(ports_, "lease " + id_ + " not renewed: " + error.message);
    complained_ = true;
  }

  const RunPorts& ports_;
  std::string id_;
  std::uint64_t ttl_seconds_;
  BootTime next_{};
  bool given_up_ = false;
  bool complained_ = false;
};

// An agent that is being restarted comes back within a moment, so this tries a few times.
void Release(const RunPorts& ports, const rest::Lease& lease) {
  const std::string& id = lease.metadata.name;
  const rest::RevokeRequest request{.grace_ms = 0, .reason = "released"};
  Error last;
  for (int i = 0; i < kReleaseTries; ++i) {
    if (i > 0) ports.workload.Pause(kReleasePause);
    const auto released = RevokeLease(ports.api, id, request);
    if (released) return;
    last = released.error();
    // Ended already, by its ttl or by an operator.
    if (last.code == ErrorCode::kNotFound || last.code == ErrorCode::kConflict) return;
  }
  Say(ports, "lease " + id + " not released: " + last.message + ". It ends by itself within " +
                 std::to_string(lease.spec.ttl_seconds) + " s");
}

// Until the command ends. `renewal` is null for a lease that is not ours.
Result<int> WaitForCommand(const RunPorts& ports, Renewal* renewal) {
  while (true) {
    RB_TRY(const std::optional<int> status,
           ports.workload.Wait(renewal == nullptr ? kForever : renewal->TimeLeft()));
    if (status) return *status;
    if (renewal != nullptr) renewal->RenewIfDue();
  }
}

Result<int> RunUnderNewLease(const RunPlan& plan, const rest::Lease& lease, const RunPorts& ports) {
  RB_TRY_VOID(ports.workload.Start(plan.workload, lease.status.token));
  Renewal renewal(ports, lease.metadata.name, lease.spec.ttl_seconds);
  return WaitForCommand(ports, &renewal);
}

std::string Summary(const rest::Lease& lease) {
  std::string text = "lease " + lease.metadata.name + " of tenant " + lease.spec.tenant + " on";
  for (const rest::LeasedDevice& device : lease.status.devices) text += ' ' + device.name;
  return text;
}

}  // namespace

Result<int> RunUnderLease(const RunPlan& plan, bool verbose, const RunPorts& ports) {
  RB_TRY_VOID(ports.workload.HoldSignals());
  if (!plan.request) {
    RB_TRY_VOID(ports.workload.Start(plan.workload, plan.token));
    return WaitForCommand(ports, nullptr);
  }
  RB_TRY(const ApiAnswer answer, CreateLease(ports.api, *plan.request));
  RB_TRY(const rest::Lease lease, rest::ParseLease(answer.body));
  if (verbose) Say(ports, Summary(lease));
  auto status = RunUnderNewLease(plan, lease, ports);
  Release(ports, lease);
  return status;
}

}  // namespace rb::cli
