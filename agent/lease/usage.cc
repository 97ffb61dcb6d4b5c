#include "agent/lease/usage.h"

namespace rb::agent {
namespace {

void AddSlot(const wire::CounterSlot& slot, rest::LeaseUsage* usage) {
  for (std::size_t i = 0; i < wire::kLimitCount; ++i) {
    usage->denials[i] += wire::Load(slot.denials[i]);
  }
  for (std::size_t i = 0; i < wire::kOpCount; ++i) {
    rest::OpUsage& op = usage->ops[wire::kOpNames[i]];
    op.messages += wire::Load(slot.ops[i].messages);
    op.bytes += wire::Load(slot.ops[i].bytes);
  }
  usage->throttled_ns += wire::Load(slot.throttled_ns);
}

void AddOps(const wire::CounterSlot& slot, DeviceUsage* usage) {
  for (std::size_t i = 0; i < wire::kOpCount; ++i) {
    usage->ops[i].messages += wire::Load(slot.ops[i].messages);
    usage->ops[i].bytes += wire::Load(slot.ops[i].bytes);
  }
  usage->throttled_ns += wire::Load(slot.throttled_ns);
}

}  // namespace

rest::LeaseUsage ReadUsage(const wire::CountersPage& page) {
  rest::LeaseUsage usage;
  for (std::size_t i = 0; i < wire::kLimitCount; ++i) usage.used[i] = wire::Load(page.used[i]);
  for (const wire::CounterSlot& retired : page.retired) AddSlot(retired, &usage);
  for (const wire::CounterSlot& slot : page.slots) {
    if (wire::Load(slot.state) != static_cast<std::uint32_t>(wire::SlotState::kFree)) {
      AddSlot(slot, &usage);
    }
  }
  return usage;
}

std::vector<DeviceUsage> ReadDeviceUsage(const wire::CountersPage& page, std::size_t devices) {
  std::vector<DeviceUsage> usage(devices);
  for (std::size_t i = 0; i < devices; ++i) AddOps(page.retired[i], &usage[i]);
  for (const wire::CounterSlot& slot : page.slots) {
    const std::uint32_t device = wire::Load(slot.device_index);
    if (wire::Load(slot.state) == static_cast<std::uint32_t>(wire::SlotState::kFree)) continue;
    if (device < devices) AddOps(slot, &usage[device]);
  }
  return usage;
}

void AddSettled(const rest::LeaseUsage& settled, rest::LeaseUsage* usage) {
  for (std::size_t i = 0; i < wire::kLimitCount; ++i) usage->denials[i] += settled.denials[i];
  for (const auto& [op, counted] : settled.ops) {
    usage->ops[op].messages += counted.messages;
    usage->ops[op].bytes += counted.bytes;
  }
  usage->throttled_ns += settled.throttled_ns;
}

std::vector<Denial> NewDenials(const wire::CountersPage& page,
                               std::array<std::uint64_t, wire::kLimitCount>* seen) {
  const rest::LeaseUsage usage = ReadUsage(page);
  std::vector<Denial> denials;
  for (std::size_t i = 0; i < wire::kLimitCount; ++i) {
    const std::uint64_t before = (*seen)[i];
    (*seen)[i] = usage.denials[i];
    if (usage.denials[i] <= before) continue;
    denials.push_back({.limit = static_cast<wire::Limit>(i),
                       .count = usage.denials[i] - before,
                       .used = wire::Load(page.last_refusal[i].used),
                       .asked = wire::Load(page.last_refusal[i].asked),
                       .pid = wire::Load(page.last_refusal[i].pid)});
  }
  return denials;
}

}  // namespace rb::agent
