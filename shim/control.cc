#include "shim/control.h"

#include <cerrno>
#include <cstdlib>

#include "shim/destroyed.h"
#include "shim/log.h"
#include "shim/process.h"
#include "shim/real.h"
#include "shim/uverbs/rewrite.h"
#include "shim/uverbs/verdict.h"
#include "shim/uverbs/write_abi.h"

namespace rb::shim {
namespace {

using wire::Limit;

// Where a call comes from and goes to.
struct Route {
  VerbsCall kernel;
  File* file;
  int fd;

  int Send(ib_uverbs_ioctl_hdr* header) const { return kernel(fd, header); }
};

int Refuse(const Call& call, int error) {
  Log(LogLevel::kInfo, "refused object %u method %u with errno %d", call.header->object_id,
      call.method, error);
  errno = error;
  return -1;
}

bool Counts(const Call& call) { return call.row != nullptr && call.row->limit != kNoLimit; }

Limit LimitOf(const Call& call) { return static_cast<Limit>(call.row->limit); }

// One charge that is given back unless Keep is called.
class Charges {
 public:
  Charges(File* file, const wire::PolicyPage& policy) : file_(file), policy_(policy) {}
  ~Charges() {
    for (std::size_t i = 0; i < count_; ++i) {
      GiveBack(file_->account, taken_[i].limit, taken_[i].amount);
    }
  }
  Charges(const Charges&) = delete;
  Charges& operator=(const Charges&) = delete;

  // Returns 0 or the errno of the limit that is full.
  int Take(Limit limit, std::uint64_t amount) {
    const auto pid = static_cast<std::uint64_t>(::getpid());
    const std::uint64_t bound = policy_.limits[wire::Index(limit)];
    if (!Charge(file_->account, limit, amount, bound, pid)) {
      Log(LogLevel::kInfo, "limit %s of %llu reached", wire::Row(limit).name,
          static_cast<unsigned long long>(bound));
      return wire::Row(limit).refusal_errno;
    }
    taken_[count_++] = {.limit = limit, .amount = amount};
    return 0;
  }

  void Keep() { count_ = 0; }

 private:
  struct Taken {
    Limit limit;
    std::uint64_t amount;
  };
  File* file_;
  const wire::PolicyPage& policy_;
  std::array<Taken, 2> taken_{};  // an object, and the bytes of a region
  std::size_t count_ = 0;
};

// Regions remember their bytes (one more, since 0 means nothing), queues the library's address.
void Remember(File* file, const Call& call) {
  std::uint32_t handle = 0;
  std::uint64_t value = 0;
  if (!CreatedHandle(call, &handle)) return;
  if (RegionBytes(call, &value)) {
    file->objects.Set(handle, value + 1);
  } else if (UserHandle(call, &value)) {
    file->objects.Set(handle, value);
  }
}

int Create(const Route& route, const Call& call, ib_uverbs_ioctl_hdr* header,
           const wire::PolicyPage& policy) {
  Charges charges(route.file, policy);
  std::uint64_t bytes = 0;
  int error = Counts(call) ? charges.Take(LimitOf(call), 1) : 0;
  if (error == 0 && RegionBytes(call, &bytes)) error = charges.Take(Limit::kMrBytes, bytes);
  if (error != 0) return Refuse(call, error);
  const int result = route.Send(header);
  if (result == 0) charges.Keep();
  return result;
}

// What is known of one object.
struct Known {
  std::uint64_t object = 0;  // as Remember() keeps it
  std::uint64_t queue = 0;   // QpExState
};

Known TakeKnown(File* file, std::uint32_t handle) {
  return {.object = file->objects.Take(handle), .queue = file->queues.Take(handle)};
}

void PutBack(File* file, std::uint32_t handle, const Known& known) {
  if (known.object != 0) file->objects.Set(handle, known.object);
  if (known.queue != 0) file->queues.Set(handle, known.queue);
}

void Settle(File* file, const Call& call, const Known& known) {
  if (LimitOf(call) == Limit::kMrs && known.object != 0) {
    GiveBack(file->account, Limit::kMrBytes, known.object - 1);
  }
  std::free(AtAddress<void>(known.queue));
  GiveBack(file->account, LimitOf(call), 1);
}

int Destroy(const Route& route, const Call& call, const wire::PolicyPage& policy) {
  std::uint32_t handle = 0;
  const bool counted = DestroyedHandle(call, &handle) && Counts(call);
  // Before the call: the kernel can give the number to another thread's object the moment it is
  // free, and what is found under it then is that object's.
  const Known known = counted ? TakeKnown(route.file, handle) : Known{};
  int result = route.Send(call.header);
  // What the agent destroyed before us is destroyed, and that is what was asked for.
  const bool revoked = static_cast<wire::PolicyState>(policy.state) == wire::PolicyState::kRevoked;
  if (result != 0 && errno == ENOENT && revoked) {
    AnswerDestroyed(call, known.object);
    result = 0;
  }
  if (!counted) return result;
  if (result == 0) {
    Settle(route.file, call, known);
  } else {
    PutBack(route.file, handle, known);
  }
  return result;
}

int Reregister(const Route& route, const Call& call, const wire::PolicyPage& policy) {
  File* file = route.file;
  Reregistration wanted;
  if (!ReadReregistration(call, &wanted) || !wanted.changes_length) return route.Send(call.header);
  const std::uint64_t known = file->objects.Get(wanted.handle);
  const std::uint64_t before = known == 0 ? 0 : known - 1;
  Charges charges(file, policy);
  if (wanted.bytes > before) {
    const int error = charges.Take(Limit::kMrBytes, wanted.bytes - before);
    if (error != 0) return Refuse(call, error);
  }
  const int result = route.Send(call.header);
  if (result != 0) return result;
  charges.Keep();
  if (wanted.bytes < before) GiveBack(file->account, Limit::kMrBytes, before - wanted.bytes);
  file->objects.Set(wanted.handle, wanted.bytes + 1);
  return 0;
}

int Forward(const Route& route, const Call& call, ib_uverbs_ioctl_hdr* header,
            const wire::PolicyPage& policy) {
  if (call.row == nullptr) return route.Send(header);
  switch (call.row->action) {
    case Action::kCreate:
      return Create(route, call, header, policy);
    case Action::kDestroy:
      return Destroy(route, call, policy);
    case Action::kReregMr:
      return Reregister(route, call, policy);
    default:
      return route.Send(header);
  }
}

// Sends the call, changed as the lease wants it: on a copy, the application may use its buffer
// again.
int ForwardRewritten(const Route& route, const Call& call, const wire::PolicyPage& policy) {
  const bool strip = MustStripDevx(call, policy);
  const bool mark = call.row != nullptr && ApplyClass(*call.row, call.core_in, ClassRuleOf(policy),
                                                      false) == ClassVerdict::kRewrite;
  if (!strip && !mark) return Forward(route, call, call.header, policy);
  CallCopy copy;
  const std::uint16_t changed =
      strip ? std::uint16_t{UVERBS_ATTR_UHW_IN} : std::uint16_t{UVERBS_ATTR_CORE_IN};
  if (!copy.Make(*call.header, changed)) {
    return Refuse(call, EINVAL);  // no library sends such a thing, and it must not pass unmarked
  }
  if (strip) StripDevx(copy.bytes(), true);
  if (mark) {
    ApplyClass(*call.row, copy.bytes(), ClassRuleOf(policy), true);
    wire::Add<std::uint64_t>(&route.file->account.slot->class_rewrites, 1);
  }
  const int result = Forward(route, call, copy.header(), policy);
  const ErrnoGuard keep_errno;
  copy.CopyBack(call.header);
  return result;
}

// A doorbell: nothing to count or change, so only the state is looked at.
int Post(const Route& route, const Call& call) {
  const auto state = static_cast<wire::PolicyState>(wire::Load(route.file->lease->policy->state));
  if (state == wire::PolicyState::kRevoked) return Refuse(call, EACCES);
  return route.Send(call.header);
}

}  // namespace

int KernelIoctl(int fd, ib_uverbs_ioctl_hdr* header) {
  return real::Ioctl(fd, RDMA_VERBS_IOCTL, header);
}

int ControlIoctl(VerbsCall kernel, File* file, int fd, ib_uverbs_ioctl_hdr* header) {
  const Route route{.kernel = kernel, .file = file, .fd = fd};
  Call call;
  if (!Decode(header, &call)) return route.Send(header);
  if (call.row != nullptr && call.row->action == Action::kPost) return Post(route, call);
  wire::PolicyPage policy{};
  if (!file->lease->cache.Read(*file->lease->policy, &policy)) return Refuse(call, EACCES);
  const int refusal = Judge(call, policy);
  if (refusal != 0) return Refuse(call, refusal);

  const int result = ForwardRewritten(route, call, policy);
  const ErrnoGuard keep_errno;
  if (result == 0) {
    // The kernel took this id, so it is the device's: write() commands are wrapped with it.
    __atomic_store_n(&file->driver_id, header->driver_id, __ATOMIC_RELAXED);
    if (call.row != nullptr && call.row->action == Action::kCreate) Remember(file, call);
  }
  if (LogEnabled(LogLevel::kTrace)) {
    Log(LogLevel::kTrace, "fd %d object %u method %u -> %d errno %d", fd, header->object_id,
        call.method, result, result == 0 ? 0 : errno);
  }
  return result;
}

ssize_t ControlWrite(VerbsCall kernel, File* file, int fd, const void* buffer, std::size_t bytes) {
  InvokeWrite call;
  const std::uint32_t driver_id = __atomic_load_n(&file->driver_id, __ATOMIC_RELAXED);
  if (BuildInvokeWrite(buffer, bytes, driver_id, &call) != 0) {
    return real::Write(fd, buffer, bytes);  // not a command: the kernel says so
  }
  if (ControlIoctl(kernel, file, fd, call.get()) == 0) return static_cast<ssize_t>(bytes);
  if (errno != ENOTTY) return -1;
  // The number belongs to another file now: it was closed behind the hooks' back.
  if (File* stale = Self().table.Remove(fd)) Self().table.Finish(stale);
  return real::Write(fd, buffer, bytes);
}

}  // namespace rb::shim
