#include "agent/lease/lease_table.h"

#include <algorithm>
#include <chrono>
#include <tuple>
#include <utility>

#include "agent/lease/policy.h"
#include "agent/lease/usage.h"

namespace rb::agent {
namespace {

std::vector<rest::LeasedDevice> LeasedDevices(const Grant& grant) {
  std::vector<rest::LeasedDevice> devices;
  for (const std::string& name : grant.devices) {
    rest::LeasedDevice device{.name = name, .port = 1, .dscp = {}, .sl = {}};
    if (grant.traffic_class) {
      device.dscp = grant.traffic_class->traffic_class >> 2;
      device.sl = grant.traffic_class->sl;
    }
    devices.push_back(std::move(device));
  }
  return devices;
}

Grant GrantOf(const rest::LeaseStatus& status) {
  Grant grant;
  for (const rest::LeasedDevice& device : status.devices) {
    grant.devices.push_back(device.name);
    if (device.dscp) {
      grant.traffic_class =
          ClassFacts{.traffic_class = static_cast<std::uint8_t>(*device.dscp << 2),
                     .sl = static_cast<std::uint8_t>(device.sl.value_or(0))};
    }
  }
  return grant;
}

rest::LeaseUsage UsageOf(const LeaseRecord& record) {
  rest::LeaseUsage usage;
  if (record.counters) usage = ReadUsage(*record.counters->page());
  AddSettled(record.settled, &usage);
  return usage;
}

}  // namespace

LeaseRecord& LeaseTable::Insert(LeaseRecord record) {
  auto owned = std::make_unique<LeaseRecord>(std::move(record));
  LeaseRecord& inserted = *owned;
  leases_[inserted.id()] = std::move(owned);
  return inserted;
}

void LeaseTable::Erase(const std::string& id) { leases_.erase(id); }

LeaseRecord* LeaseTable::Find(std::string_view id) {
  const auto found = leases_.find(id);
  return found == leases_.end() ? nullptr : found->second.get();
}

const LeaseRecord* LeaseTable::Find(std::string_view id) const {
  const auto found = leases_.find(id);
  return found == leases_.end() ? nullptr : found->second.get();
}

LeaseRecord* LeaseTable::FindByCgroup(std::string_view path) {
  LeaseRecord* innermost = nullptr;
  for (const auto& [id, lease] : leases_) {
    if (!lease->live() || !IsWithinCgroup(path, lease->cgroup)) continue;
    if (innermost == nullptr || lease->cgroup.size() > innermost->cgroup.size()) {
      innermost = lease.get();
    }
  }
  return innermost;
}

LeaseRecord* LeaseTable::FindByTokenHash(std::string_view hash) {
  if (hash.empty()) return nullptr;
  // Both sides are digests: how far they agree tells nothing about the token.
  for (const auto& [id, lease] : leases_) {
    if (lease->live() && lease->token_hash == hash) return lease.get();
  }
  return nullptr;
}

LeaseRecord* LeaseTable::FindByUid(uid_t uid) {
  for (const auto& [id, lease] : leases_) {
    const rest::Workload& workload = lease->spec.workload;
    if (lease->live() && !workload.token && workload.cgroup.empty() && workload.uid == uid) {
      return lease.get();
    }
  }
  return nullptr;
}

std::vector<LeaseRecord*> LeaseTable::All() {
  std::vector<LeaseRecord*> all;
  for (const auto& [id, lease] : leases_) all.push_back(lease.get());
  std::ranges::sort(all, [](const LeaseRecord* a, const LeaseRecord* b) {
    return std::tie(a->metadata.created_at, a->metadata.name) <
           std::tie(b->metadata.created_at, b->metadata.name);
  });
  return all;
}

std::vector<const LeaseRecord*> LeaseTable::All() const {
  const auto all = const_cast<LeaseTable*>(this)->All();
  return {all.begin(), all.end()};
}

std::vector<LeaseRecord*> LeaseTable::Live() {
  std::vector<LeaseRecord*> live = All();
  std::erase_if(live, [](const LeaseRecord* lease) { return !lease->live(); });
  return live;
}

std::size_t LeaseTable::live_count() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(leases_, [](const auto& entry) { return entry.second->live(); }));
}

std::vector<Neighbour> LeaseTable::Neighbours(std::string_view except) const {
  std::vector<Neighbour> neighbours;
  for (const auto& [id, lease] : leases_) {
    if (!lease->live() || id == except) continue;
    neighbours.push_back({.id = id,
                          .devices = lease->grant.devices,
                          .limits = lease->spec.limits,
                          .workload = lease->spec.workload});
  }
  return neighbours;
}

std::vector<std::string> LeaseTable::Expired(BootTime now) const {
  std::vector<std::string> expired;
  for (const auto& [id, lease] : leases_) {
    if (lease->live() && !lease->ending && lease->expires_at <= now) expired.push_back(id);
  }
  return expired;
}

void LeaseTable::ForgetOldest() {
  std::vector<LeaseRecord*> ended = All();
  std::erase_if(ended, [](const LeaseRecord* lease) { return lease->live(); });
  if (ended.size() <= kEndedLeasesMax) return;
  for (std::size_t i = 0; i < ended.size() - kEndedLeasesMax; ++i)
    Erase(std::string(ended[i]->id()));
}

rest::Checkpoint LeaseTable::ToCheckpoint(const std::string& boot_id,
                                          std::uint64_t next_event) const {
  rest::Checkpoint checkpoint{
      .boot_id = boot_id, .next_revision = next_revision_, .next_event = next_event, .leases = {}};
  for (const LeaseRecord* record : All()) {
    rest::StoredLease stored;
    stored.lease.metadata = record->metadata;
    stored.lease.spec = record->spec;
    stored.lease.status.phase = record->phase;
    stored.lease.status.devices = LeasedDevices(record->grant);
    stored.lease.status.conditions = record->conditions;
    stored.lease.status.usage = UsageOf(*record);
    stored.token_hash = record->token_hash;
    stored.expires_boot_ns = static_cast<std::uint64_t>(record->expires_at.count());
    checkpoint.leases.push_back(std::move(stored));
  }
  return checkpoint;
}

void LeaseTable::FromCheckpoint(const rest::Checkpoint& checkpoint) {
  next_revision_ = std::max(next_revision_, checkpoint.next_revision);
  for (const rest::StoredLease& stored : checkpoint.leases) {
    LeaseRecord record;
    record.metadata = stored.lease.metadata;
    record.spec = stored.lease.spec;
    record.phase = stored.lease.status.phase;
    record.grant = GrantOf(stored.lease.status);
    record.token_hash = stored.token_hash;
    record.expires_at = BootTime(static_cast<std::int64_t>(stored.expires_boot_ns));
    record.conditions = stored.lease.status.conditions;
    record.settled = stored.lease.status.usage;
    // What was held then says nothing about now; what was counted does.
    record.settled.used = {};
    Insert(std::move(record));
  }
}

rest::Lease ToBody(const LeaseRecord& record, const std::string& node, BootTime now,
                   bool has_rdma_controller, std::uint64_t processes) {
  rest::Lease body;
  body.metadata = record.metadata;
  body.spec = record.spec;
  body.status.phase = record.phase;
  body.status.node = node;
  body.status.devices = LeasedDevices(record.grant);
  body.status.enforcement = Enforcement(record.spec, has_rdma_controller);
  body.status.usage = UsageOf(record);
  body.status.usage.processes = processes;
  body.status.conditions = record.conditions;
  if (record.live() && record.expires_at > now) {
    body.status.expires_in_seconds = static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::seconds>(record.expires_at - now).count());
  }
  return body;
}

}  // namespace rb::agent
