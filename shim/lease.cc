#include "shim/lease.h"

#include <pthread.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "shim/clock.h"
#include "shim/log.h"

namespace rb::shim {
namespace {

// After a time-out the next questions fail at once for this long: libibverbs asks about every
// device of the machine, and each answer would cost the full deadline.
constexpr std::uint64_t kSilenceNs = 1000 * kNsPerMs;

// A thread that is cancelled inside a call would leave the session's lock behind for ever.
class CancelGuard {
 public:
  CancelGuard() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &saved_); }
  ~CancelGuard() { pthread_setcancelstate(saved_, nullptr); }
  CancelGuard(const CancelGuard&) = delete;
  CancelGuard& operator=(const CancelGuard&) = delete;

 private:
  int saved_ = 0;
};

template <typename T>
T* MapPage(int fd, const FileIdentity& identity, int protection) {
  // A file shorter than the page would turn into SIGBUS at the first touch.
  if (identity.size < sizeof(T)) return nullptr;
  void* at = ::mmap(nullptr, sizeof(T), protection, MAP_SHARED, fd, 0);
  return at == MAP_FAILED ? nullptr : static_cast<T*>(at);
}

bool IsRevoked(const Lease& lease) {
  return static_cast<wire::PolicyState>(wire::LoadAcquire(lease.policy->state)) ==
         wire::PolicyState::kRevoked;
}

void Unmap(Lease* lease) {
  if (lease->policy != nullptr) {
    ::munmap(const_cast<wire::PolicyPage*>(lease->policy), sizeof(wire::PolicyPage));
  }
  if (lease->counters != nullptr) ::munmap(lease->counters, sizeof(wire::CountersPage));
  lease->policy = nullptr;
  lease->counters = nullptr;
}

// Errors that mean "nobody there": the connection is gone, a new one may work.
bool IsLostConnection(int error) {
  return error == EPIPE || error == ECONNRESET || error == ENOTCONN || error == EBADF;
}

}  // namespace

int Session::Find(const DevicePath& path, wire::GrantedDevice* device) {
  const ErrnoGuard keep_errno;
  const CancelGuard no_cancel;
  const LockGuard guard(&lock_);
  const int error = EnsureLease();
  if (error != 0) return error == ETIMEDOUT ? ETIMEDOUT : ENOENT;
  return FindLocked(path, device);
}

int Session::Open(const DevicePath& path, OpenedFile* opened) {
  const ErrnoGuard keep_errno;
  const CancelGuard no_cancel;
  const LockGuard guard(&lock_);
  int error = EnsureLease();
  // OPEN needs a HELLO on the same connection.
  if (error == 0 && !client_.connected()) error = Hello();
  if (error != 0) return error == ETIMEDOUT ? ETIMEDOUT : ENOENT;
  wire::GrantedDevice device{};
  error = FindLocked(path, &device);
  if (error != 0) return error;

  error = OpenLocked(device, opened);
  if (IsLostConnection(error)) {
    // The agent was restarted since the last call: once more on a fresh connection.
    error = Hello();
    if (error == 0) error = FindLocked(path, &device);
    if (error == 0) error = OpenLocked(device, opened);
    if (error != 0 && !client_.refusal().refused && error != ETIMEDOUT) error = ENOENT;
  }
  return error;
}

int Session::OpenLocked(const wire::GrantedDevice& device, OpenedFile* opened) {
  wire::OpenReply reply{};
  const int error = client_.Open(device.name.data(), &reply, &opened->fd);
  if (error != 0) {
    stale_ = true;  // whatever the reason was, the grant may have changed
    Report("open", error);
    return error;
  }
  opened->lease = current_;
  opened->slot = reply.slot;
  opened->device_index = reply.device_index;
  opened->driver_id = reply.driver_id;
  __atomic_add_fetch(&current_->files, 1, __ATOMIC_RELAXED);
  return 0;
}

int Session::EnsureLease() {
  if (current_ != nullptr && !stale_ && !IsRevoked(*current_)) return 0;
  const int error = Hello();
  // A live lease needs no agent: what it says keeps holding while the agent is away. Only an
  // explicit "you hold nothing" ends it.
  if (error != 0 && current_ != nullptr && !client_.refusal().refused && !IsRevoked(*current_)) {
    return 0;
  }
  return error;
}

int Session::Hello() {
  if (NowNs() < silent_until_ns_) return ETIMEDOUT;
  UniqueFd policy;
  UniqueFd counters;
  wire::GrantReply grant{};
  int error =
      client_.Hello(config_->socket.data(), config_->token.data(), &grant, &policy, &counters);
  if (IsLostConnection(error)) {
    error =
        client_.Hello(config_->socket.data(), config_->token.data(), &grant, &policy, &counters);
  }
  if (error == ETIMEDOUT) silent_until_ns_ = NowNs() + kSilenceNs;
  if (error == 0) {
    grant_ = grant;
    error = Adopt(policy, counters);
  }
  Report("hello", error);
  if (error == 0) stale_ = false;
  return error;
}

int Session::Adopt(const UniqueFd& policy, const UniqueFd& counters) {
  FileIdentity policy_file;
  FileIdentity counters_file;
  if (!Identify(policy.get(), &policy_file) || !Identify(counters.get(), &counters_file)) {
    return EPROTO;
  }
  if (current_ != nullptr && current_->policy_file.SameFile(policy_file) &&
      current_->counters_file.SameFile(counters_file)) {
    return 0;  // the same lease again, after a reconnection
  }
  Lease* lease = FreeLease();
  if (lease == nullptr) return ENOMEM;
  const auto* policy_page = MapPage<const wire::PolicyPage>(policy.get(), policy_file, PROT_READ);
  auto* counters_page =
      MapPage<wire::CountersPage>(counters.get(), counters_file, PROT_READ | PROT_WRITE);
  lease->policy = policy_page;
  lease->counters = counters_page;
  if (policy_page == nullptr || counters_page == nullptr ||
      policy_page->magic != wire::kPolicyMagic || policy_page->version != wire::kPageVersion ||
      counters_page->magic != wire::kCountersMagic ||
      counters_page->version != wire::kPageVersion) {
    Unmap(lease);
    return EPROTO;
  }
  lease->policy_file = policy_file;
  lease->counters_file = counters_file;
  lease->id = grant_.lease_id;
  current_ = lease;
  Log(LogLevel::kInfo, "lease %s with %u device(s)", lease->id.data(), grant_.device_count);
  return 0;
}

Lease* Session::FreeLease() {
  for (std::size_t i = 0; i < kLeasesMax; ++i) {
    Lease& lease = leases_[i];
    if (&lease == current_ || __atomic_load_n(&lease.files, __ATOMIC_ACQUIRE) != 0) continue;
    Unmap(&lease);
    return &lease;
  }
  return nullptr;
}

int Session::FindLocked(const DevicePath& path, wire::GrantedDevice* device) const {
  for (std::uint32_t i = 0; i < grant_.device_count; ++i) {
    const wire::GrantedDevice& granted = grant_.devices[i];
    const bool matches = path.kind == PathKind::kUverbs
                             ? std::strcmp(granted.node.data(), path.node.data()) == 0
                             : granted.major == path.major && granted.minor == path.minor;
    if (matches) {
      *device = granted;
      return 0;
    }
  }
  return ENOENT;
}

void Session::Report(const char* what, int error) {
  if (error == reported_error_) return;  // libibverbs asks for each device: say it once
  reported_error_ = error;
  if (error == 0) return;
  const AgentRefusal& refusal = client_.refusal();
  if (refusal.refused) {
    Log(LogLevel::kError, "agent refused %s: %s: %s", what, refusal.reason.data(),
        refusal.message.data());
  } else {
    Log(LogLevel::kError, "no answer to %s from the agent at %s (errno %d)", what,
        config_->socket.data(), error);
  }
}

void Session::ForgetInChild() {
  lock_.Reset();
  // Only our copy of the descriptor goes; the parent's connection is untouched.
  client_.Drop();
  for (Lease& lease : leases_) lease.cache.Reset();
}

bool IsUverbsNumber(std::uint32_t major, std::uint32_t minor) {
  const ErrnoGuard keep_errno;
  std::array<char, 64> link{};
  std::array<char, 256> target{};
  std::snprintf(link.data(), link.size(), "/sys/dev/char/%u:%u", major, minor);
  const ssize_t length = ::readlink(link.data(), target.data(), target.size() - 1);
  return length > 0 && std::strstr(target.data(), "/infiniband_verbs/uverbs") != nullptr;
}

}  // namespace rb::shim
