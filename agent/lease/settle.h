// Which slots of a counters page are over, so that what they held can be given back. Pure.
//
// A slot belongs to one opened uverbs file; the file lives as long as any process holds it, whoever
// opened it. The kernel's context list is the truth: a slot is over when its context has gone.
// Threading: pure functions.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/wire/pages.h"

namespace rb::agent {

// The agent's own note of an open slot (the page itself is the tenant's to scribble on).
struct SlotNote {
  std::uint32_t slot = 0;
  std::string device;
  pid_t opener = 0;
  std::optional<std::uint32_t> context = {};  // the kernel's ctxn, once learnt
  // Taken over from an agent that died: in which order it opened its slots nobody knows any more.
  bool restored = false;
  std::set<std::uint32_t> candidates = {};  // of a restored slot: one of them may be its context
  bool operator==(const SlotNote&) const = default;
};

struct KernelContext {
  std::string device;
  std::uint32_t number = 0;
  std::optional<pid_t> creator;  // absent once it is dead
  bool operator==(const KernelContext&) const = default;
};

struct SettleView {
  std::vector<KernelContext> contexts;  // of all devices of the lease, all tenants
  std::set<pid_t> alive;                // processes in the lease's cgroup
  // One entry a descriptor that a process of the lease has open; forks and dup make several of one
  // file.
  std::multiset<std::string> devices_held_open;
  std::set<std::uint32_t> closed_slots;  // the shim's word: the last holder closed the file
};

struct SettlePlan {
  std::vector<SlotNote> open;       // go on, with contexts learnt by now
  std::vector<std::uint32_t> over;  // give back and free
  bool operator==(const SettlePlan&) const = default;
};

// A context is learnt while its creator lives: the n-th unmatched context of a process and device
// is that of its n-th unmatched slot (the kernel numbers upwards); slots that are said to be closed
// come last, because their context is most likely gone already.
//
// A slot without a context is over when it is said to be closed, or when its opener is dead and no
// process of the lease can hold its file: the descriptors of the device that are open are no more
// than the living contexts of the other slots.
//
// Restored slots of one process and device are a group: which context is whose is not known, only
// how many there are. Closed ones are over as far as the group has fewer contexts than slots; an
// open one when the group's contexts are gone and its opener is dead. A group of one slot and one
// context is none any more.
SettlePlan PlanSettle(std::vector<SlotNote> notes, const SettleView& view);

// Gives back what slot `index` holds, adds what it counted to `retired`, and frees it.
void RetireSlot(wire::CountersPage* page, std::uint32_t index);

}  // namespace rb::agent
