#include "agent/control/node_view.h"

#include <utility>

namespace rb::agent {
namespace {

std::map<std::string, std::uint64_t> CapacityOf(const rdma::DeviceLimits& limits) {
  std::map<std::string, std::uint64_t> capacity{{"pds", limits.max_pd}, {"qps", limits.max_qp},
                                                {"cqs", limits.max_cq}, {"srqs", limits.max_srq},
                                                {"mrs", limits.max_mr}, {"ahs", limits.max_ah},
                                                {"mws", limits.max_mw}};
  // 0 means that the driver does not say, except for memory windows, where it means none.
  std::erase_if(capacity,
                [](const auto& entry) { return entry.second == 0 && entry.first != "mws"; });
  return capacity;
}

DeviceFacts FactsOf(const rdma::Device& device) {
  DeviceFacts facts;
  facts.name = device.name;
  facts.usable = !device.uverbs.empty();
  if (!device.ports.empty()) {
    facts.link_layer = std::string(rdma::Name(device.ports.front().link_layer));
    facts.port_rate_bits_per_second = device.ports.front().rate_bits_per_second;
  }
  if (device.limits) facts.capacity = CapacityOf(*device.limits);
  return facts;
}

rest::Event DeviceEvent(std::string type, const std::string& device, std::string message) {
  rest::Event event;
  event.type = std::move(type);
  event.message = std::move(message);
  event.details["device"] = device;
  return event;
}

void AddPortEvents(const rdma::Device& before, const rdma::Device& after,
                   std::vector<rest::Event>* events) {
  for (const rdma::Port& port : after.ports) {
    for (const rdma::Port& old : before.ports) {
      if (old.number != port.number || old.state == port.state) continue;
      rest::Event event = DeviceEvent("port_changed", after.name,
                                      "port " + std::to_string(port.number) + " of " + after.name +
                                          " is " + std::string(rdma::Name(port.state)) + ", was " +
                                          std::string(rdma::Name(old.state)));
      event.details["port"] = std::to_string(port.number);
      events->push_back(std::move(event));
    }
  }
}

}  // namespace

std::vector<rest::Event> InventoryEvents(const rdma::Inventory& before,
                                         const rdma::Inventory& after) {
  std::vector<rest::Event> events;
  for (const rdma::Device& device : after.devices) {
    const rdma::Device* old = before.Find(device.name);
    // The same name with another index is another device: it went and came back.
    if (old == nullptr || old->index != device.index) {
      events.push_back(DeviceEvent("device_added", device.name,
                                   "device " + device.name + " (" + device.driver + ") is here"));
    } else {
      AddPortEvents(*old, device, &events);
    }
  }
  for (const rdma::Device& device : before.devices) {
    if (after.Find(device.name) == nullptr) {
      events.push_back(
          DeviceEvent("device_removed", device.name, "device " + device.name + " is gone"));
    }
  }
  return events;
}

Task<Result<void>> NodeView::Refresh() {
  auto read = [&reader = reader_] { return reader.Read(); };
  auto inventory = co_await pool_.Run(std::move(read));
  if (!inventory) co_return tl::unexpected(inventory.error());
  for (rest::Event& event : InventoryEvents(inventory_, *inventory)) events_.Add(std::move(event));
  inventory_ = std::move(*inventory);
  co_return Result<void>{};
}

NodeFacts NodeView::Facts() const {
  NodeFacts facts{.name = traits_.name,
                  .devices = {},
                  .classes = traits_.classes,
                  .reserved_cgroups = traits_.reserved_cgroups};
  for (const rdma::Device& device : inventory_.devices) facts.devices.push_back(FactsOf(device));
  return facts;
}

std::vector<RevokeDevice> NodeView::DevicesOf(const std::vector<std::string>& names) const {
  std::vector<RevokeDevice> devices;
  for (const std::string& name : names) {
    const rdma::Device* device = inventory_.Find(name);
    if (device == nullptr) continue;
    devices.push_back({.name = name,
                       .number = {.major = device->major, .minor = device->minor},
                       .driver_id = device->driver_id});
  }
  return devices;
}

}  // namespace rb::agent
