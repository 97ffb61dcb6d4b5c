#include "shim/ledger.h"

namespace rb::shim {
namespace {

void NoteDenial(const Account& account, std::size_t index, std::uint64_t used, std::uint64_t asked,
                std::uint64_t pid) {
  wire::Refusal& refusal = account.page->last_refusal[index];
  wire::Store(&refusal.used, used);
  wire::Store(&refusal.asked, asked);
  wire::Store(&refusal.pid, pid);
  // Last, and with release: who sees the new count also sees what was asked.
  __atomic_add_fetch(&account.slot->denials[index], 1, __ATOMIC_RELEASE);
}

}  // namespace

bool Charge(const Account& account, wire::Limit limit, std::uint64_t amount,
            std::uint64_t limit_value, std::uint64_t pid) {
  const std::size_t index = wire::Index(limit);
  std::uint64_t used = wire::Load(account.page->used[index]);
  while (true) {
    // Compare with what is left: the sum can wrap, an implicit region asks for 2^64 - 1 bytes.
    if (used > limit_value || amount > limit_value - used) {
      NoteDenial(account, index, used, amount, pid);
      return false;
    }
    if (wire::CompareExchange(&account.page->used[index], &used, used + amount)) break;
  }
  wire::Add(&account.slot->used[index], amount);
  return true;
}

void GiveBack(const Account& account, wire::Limit limit, std::uint64_t amount) {
  const std::size_t index = wire::Index(limit);
  std::uint64_t held = wire::Load(account.slot->used[index]);
  std::uint64_t taken = 0;
  do {
    taken = amount < held ? amount : held;
    if (taken == 0) return;
  } while (!wire::CompareExchange(&account.slot->used[index], &held, held - taken));
  wire::Subtract(&account.page->used[index], taken);
}

}  // namespace rb::shim
