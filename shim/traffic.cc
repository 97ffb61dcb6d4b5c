#include "shim/traffic.h"

#include <cerrno>

#include "shim/clock.h"
#include "shim/pacer.h"

namespace rb::shim {
namespace {

wire::PaceBucket* BucketOf(File* file) { return &file->account.page->buckets[file->device_index]; }

void Pause(std::uint64_t ns) {
  if (ns > kSpinNs) {
    SleepNs(ns < kSliceNs ? ns : kSliceNs);
    return;
  }
  const std::uint64_t until = NowNs() + ns;
  while (NowNs() < until) {
  }
}

void NoteThrottled(File* file, std::uint64_t since_ns, std::uint64_t now_ns) {
  wire::Add<std::uint64_t>(&file->account.slot->throttled_posts, 1);
  wire::Add<std::uint64_t>(&file->account.slot->throttled_ns, now_ns - since_ns);
}

}  // namespace

int WaitToPass(File* file, std::uint64_t bytes, Passage* passage) {
  const ErrnoGuard keep_errno;
  std::uint64_t since_ns = 0;
  while (true) {
    RateView view;
    if (!file->lease->cache.ReadRate(*file->lease->policy, file->device_index, &view)) {
      return EACCES;
    }
    if (view.state == wire::PolicyState::kRevoked) return EACCES;
    passage->counted = (view.flags & wire::kPolicyAccounting) != 0;
    passage->rate = view.rate;
    const bool is_paced = view.rate.rate_bytes_per_second != 0;
    if (!is_paced && since_ns == 0) return 0;
    const std::uint64_t now_ns = NowNs();
    const std::uint64_t wait_ns = is_paced ? TryPass(BucketOf(file), view.rate, bytes, now_ns) : 0;
    if (wait_ns == 0) {
      if (since_ns != 0) NoteThrottled(file, since_ns, now_ns);
      return 0;
    }
    if (since_ns == 0) since_ns = now_ns;
    Pause(wait_ns);
  }
}

void ChargeLate(File* file, std::uint64_t bytes, const Passage& passage) {
  if (passage.rate.rate_bytes_per_second == 0) return;
  ChargePassed(BucketOf(file), passage.rate, bytes, NowNs());
}

void TakeBack(File* file, std::uint64_t bytes, const Passage& passage) {
  if (passage.rate.rate_bytes_per_second == 0) return;
  Refund(BucketOf(file), passage.rate, bytes);
}

void Count(File* file, const Work& work, const Passage& passage) {
  if (!passage.counted) return;
  for (std::size_t i = 0; i < wire::kOpCount; ++i) {
    if (work.ops[i].messages == 0) continue;
    wire::Add(&file->account.slot->ops[i].messages, work.ops[i].messages);
    wire::Add(&file->account.slot->ops[i].bytes, work.ops[i].bytes);
  }
}

}  // namespace rb::shim
