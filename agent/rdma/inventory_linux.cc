#include "agent/rdma/inventory_linux.h"

#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/rdma_netlink.h>

#include <algorithm>
#include <array>
#include <utility>

#include "agent/rdma/netlink_attributes.h"
#include "agent/rdma/sysfs_device.h"

namespace rb::agent::rdma {
namespace {

struct Driver {
  std::uint32_t id;
  std::string_view name;
};

constexpr std::array kDrivers{
    Driver{RDMA_DRIVER_MLX5, "mlx5"},         Driver{RDMA_DRIVER_MLX4, "mlx4"},
    Driver{RDMA_DRIVER_CXGB4, "cxgb4"},       Driver{RDMA_DRIVER_MTHCA, "mthca"},
    Driver{RDMA_DRIVER_BNXT_RE, "bnxt_re"},   Driver{RDMA_DRIVER_OCRDMA, "ocrdma"},
    Driver{RDMA_DRIVER_IRDMA, "irdma"},       Driver{RDMA_DRIVER_QEDR, "qedr"},
    Driver{RDMA_DRIVER_VMW_PVRDMA, "pvrdma"}, Driver{RDMA_DRIVER_HNS, "hns"},
    Driver{RDMA_DRIVER_USNIC, "usnic"},       Driver{RDMA_DRIVER_RXE, "rxe"},
    Driver{RDMA_DRIVER_HFI1, "hfi1"},         Driver{RDMA_DRIVER_QIB, "qib"},
    Driver{RDMA_DRIVER_EFA, "efa"},           Driver{RDMA_DRIVER_SIW, "siw"},
    Driver{RDMA_DRIVER_ERDMA, "erdma"},
};

// These two bind their user library by PCI id, so netlink does not state their driver id.
constexpr std::array kUnstatedDrivers{
    Driver{RDMA_DRIVER_HNS, "hns3"},
    Driver{RDMA_DRIVER_MTHCA, "ib_mthca"},
};

bool IsSoftware(std::uint32_t driver_id) {
  return driver_id == RDMA_DRIVER_RXE || driver_id == RDMA_DRIVER_SIW;
}

// What the kernel says to a question about a device that has just gone.
bool IsGone(const Error& error) {
  return error.code == ErrorCode::kInvalid || error.code == ErrorCode::kNotFound;
}

NldevRequest AboutDevice(std::uint16_t command, bool dump, std::uint32_t index) {
  NldevRequest request{.command = command, .dump = dump, .attributes = {}};
  PutNumber32(request.attributes, RDMA_NLDEV_ATTR_DEV_INDEX, index);
  return request;
}

}  // namespace

std::string_view DriverName(std::uint32_t driver_id) {
  const auto* const found = std::ranges::find(kDrivers, driver_id, &Driver::id);
  return found == kDrivers.end() ? std::string_view() : found->name;
}

std::uint32_t DriverIdOfParent(std::string_view parent_driver) {
  const auto* const found = std::ranges::find(kUnstatedDrivers, parent_driver, &Driver::name);
  return found == kUnstatedDrivers.end() ? std::uint32_t{RDMA_DRIVER_UNKNOWN} : found->id;
}

LinuxInventoryReader::LinuxInventoryReader(Nldev& nldev, DeviceQuery& query, std::string sysfs)
    : nldev_(nldev), query_(query), sysfs_(std::move(sysfs)) {}

Result<Inventory> LinuxInventoryReader::Read() {
  const NldevRequest list{.command = RDMA_NLDEV_CMD_GET, .dump = true, .attributes = {}};
  auto devices = nldev_.Ask(list);
  // No RDMA in this kernel is a node without devices.
  if (!devices && devices.error().code == ErrorCode::kUnsupported) return Inventory{};
  RB_TRY(const NldevAnswer answer, std::move(devices));
  RB_TRY(const std::vector<DeviceRow> rows, DecodeDevices(answer));
  const NldevRequest system{.command = RDMA_NLDEV_CMD_SYS_GET, .dump = false, .attributes = {}};
  RB_TRY(const NldevAnswer settings, nldev_.Ask(system));

  Inventory inventory;
  RB_TRY(inventory.netns_mode, DecodeNetnsMode(settings));
  for (const DeviceRow& row : rows) {
    auto device = ReadDevice(row);
    if (!device && IsGone(device.error())) continue;
    RB_TRY(Device present, std::move(device));
    inventory.devices.push_back(std::move(present));
  }
  std::ranges::sort(inventory.devices, {}, &Device::name);
  std::erase_if(kept_, [&](const auto& kept) { return inventory.Find(kept.first) == nullptr; });
  return inventory;
}

Result<Device> LinuxInventoryReader::ReadDevice(const DeviceRow& row) {
  const SysfsDevice sysfs = ReadSysfsDevice(sysfs_, row.name);
  auto node = ReadNode(row);
  // A device without user verbs (ib_uverbs not loaded) is still a device.
  if (!node) node = CharDevice{};
  const std::uint32_t driver_id = node->driver_id.value_or(DriverIdOfParent(sysfs.parent_driver));
  const std::string_view driver = DriverName(driver_id);
  RB_TRY(std::vector<Port> ports, ReadPorts(row));

  Device device{
      .name = row.name,
      .index = row.index,
      .uverbs = node->name,
      .major = node->major,
      .minor = node->minor,
      .driver = driver.empty() ? sysfs.parent_driver : std::string(driver),
      .driver_id = driver_id,
      .protocol = row.protocol,
      .node_type = row.node_type,
      .node_guid = FormatGuid(row.node_guid),
      .sys_image_guid = FormatGuid(row.sys_image_guid),
      .firmware = row.firmware,
      .board_id = sysfs.board_id,
      // A software device stands on a network card, but it is not that card's function.
      .pci_address = IsSoftware(driver_id) ? std::string() : sysfs.pci_address,
      .numa_node = sysfs.numa_node,
      .limits = std::nullopt,
      .capabilities = CapabilityNames(row.capability_flags),
      .ports = std::move(ports),
  };
  AddAnswer(device);
  return device;
}

Result<CharDevice> LinuxInventoryReader::ReadNode(const DeviceRow& row) {
  NldevRequest request = AboutDevice(RDMA_NLDEV_CMD_GET_CHARDEV, false, row.index);
  PutText(request.attributes, RDMA_NLDEV_ATTR_CHARDEV_TYPE, "uverbs");
  RB_TRY(const NldevAnswer answer, nldev_.Ask(request));
  return DecodeCharDevice(answer);
}

Result<std::vector<Port>> LinuxInventoryReader::ReadPorts(const DeviceRow& row) {
  const NldevRequest request = AboutDevice(RDMA_NLDEV_CMD_PORT_GET, true, row.index);
  RB_TRY(const NldevAnswer answer, nldev_.Ask(request));
  RB_TRY(const std::vector<PortRow> rows, DecodePorts(answer));
  std::vector<Port> ports;
  for (const PortRow& port : rows) {
    SysfsPort sysfs = ReadSysfsPort(sysfs_, row.name, port.number);
    // iWARP has no GID types; sysfs then prints the enumeration's first word.
    if (row.protocol == "iw") {
      for (Gid& gid : sysfs.gids) gid.type.clear();
    }
    ports.push_back({.number = port.number,
                     .state = port.state,
                     .physical_state = std::move(sysfs.physical_state),
                     .link_layer = sysfs.link_layer,
                     .rate_bits_per_second = sysfs.rate_bits_per_second,
                     .active_mtu_bytes = 0,
                     .max_mtu_bytes = 0,
                     .lid = port.lid,
                     .sm_lid = port.sm_lid,
                     .netdev = port.netdev,
                     .gid_table_length = sysfs.gid_table_length,
                     .gids = std::move(sysfs.gids)});
  }
  return ports;
}

void LinuxInventoryReader::AddAnswer(Device& device) {
  if (device.uverbs.empty()) return;
  std::string circumstances = std::to_string(device.index);
  for (const Port& port : device.ports) {
    circumstances += ' ' + std::string(Name(port.state)) + ' ' + port.netdev + ' ' +
                     std::to_string(ReadInterfaceMtu(sysfs_, port.netdev));
  }
  Kept& kept = kept_[device.name];
  if (!kept.answer || kept.circumstances != circumstances) {
    auto answer = query_.Ask(device.name);
    // A device that will not answer now is asked again next time; until then it has no limits.
    kept.answer = answer ? std::optional(*std::move(answer)) : std::nullopt;
    kept.circumstances = std::move(circumstances);
  }
  if (!kept.answer) return;
  device.limits = kept.answer->limits;
  for (Port& port : device.ports) {
    const auto found = kept.answer->mtus.find(port.number);
    if (found == kept.answer->mtus.end()) continue;
    port.active_mtu_bytes = found->second.active_bytes;
    port.max_mtu_bytes = found->second.max_bytes;
  }
}

}  // namespace rb::agent::rdma
