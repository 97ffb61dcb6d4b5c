// Counts a lease's objects in the shared counters page: charge before the call, give back when it
// failed or when the object is gone.
//
// The totals of the page are compared with the limit by one compare-and-swap, so that two
// processes that ask for the last unit at once get it once. What one uverbs file holds also stands
// in its slot: the last holder of the file, or the agent, gives that back as a whole
// (wire::ReturnCharges).
//
// Cooperative by nature: the tenant can scribble the page. Threading: safe, also between processes.
#pragma once

#include <cstdint>

#include "api/wire/pages.h"

namespace rb::shim {

struct Account {
  wire::CountersPage* page = nullptr;
  wire::CounterSlot* slot = nullptr;
};

// Takes `amount` of `limit` when the lease's total stays at or below `limit_value`. Otherwise
// changes no total, counts the denial and notes who asked for what.
bool Charge(const Account& account, wire::Limit limit, std::uint64_t amount,
            std::uint64_t limit_value, std::uint64_t pid);

// Gives back at most what the slot holds, so that a unit returned from two sides counts once.
void GiveBack(const Account& account, wire::Limit limit, std::uint64_t amount);

}  // namespace rb::shim
