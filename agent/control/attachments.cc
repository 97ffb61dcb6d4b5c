#include "agent/control/attachments.h"

#include <algorithm>
#include <utility>

namespace rb::agent {

void Attachments::Add(Attachment attachment, UniqueFd pidfd) {
  for (const auto& [key, entry] : entries_) {
    const Attachment& known = entry->attachment;
    if (known.pid == attachment.pid && known.start_time_ticks == attachment.start_time_ticks &&
        known.lease == attachment.lease) {
      return;
    }
  }
  const std::uint64_t key = next_key_++;
  entries_[key] = std::make_unique<Entry>(loop_, std::move(attachment), std::move(pidfd));
  loop_.Spawn(WaitForExit(key));
}

Task<void> Attachments::WaitForExit(std::uint64_t key) {
  const auto waiting = entries_.find(key);
  if (waiting == entries_.end()) co_return;  // dropped before this task first ran
  const auto exited = co_await waiting->second->watch.Readable();
  // The entry may be gone: Drop() ends the wait too.
  const auto found = entries_.find(key);
  if (!exited || found == entries_.end()) co_return;
  const Attachment gone = std::move(found->second->attachment);
  entries_.erase(found);
  if (on_exit_) on_exit_(gone);
}

void Attachments::Drop(const std::string& lease) {
  std::erase_if(entries_, [&](const auto& item) { return item.second->attachment.lease == lease; });
}

std::vector<Attachment> Attachments::List() const {
  std::vector<Attachment> list;
  for (const auto& [key, entry] : entries_) list.push_back(entry->attachment);
  return list;
}

std::size_t Attachments::CountOf(const std::string& lease) const {
  return static_cast<std::size_t>(std::ranges::count_if(
      entries_, [&](const auto& item) { return item.second->attachment.lease == lease; }));
}

}  // namespace rb::agent
