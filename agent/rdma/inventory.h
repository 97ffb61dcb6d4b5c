// What RDMA hardware this node has: devices, ports, GIDs and what each device can hold.
//
// Plain values and one port. inventory_linux.h reads them from the kernel, fake_rdma_inventory.h
// (tests/fakes) serves them from memory. It is a snapshot: events.h says when to take a new one,
// and nothing here decides who may use a device.
//
// Threading: values; InventoryReader is thread-compatible.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"

namespace rb::agent::rdma {

// Values as the InfiniBand specification numbers them (sysfs prints "4: ACTIVE").
enum class PortState : std::uint8_t { kNoChange, kDown, kInit, kArmed, kActive, kActiveDefer };
enum class LinkLayer : std::uint8_t { kUnspecified, kInfiniband, kEthernet };
// What the device is on its fabric: a channel adapter (InfiniBand, RoCE) or an iWARP NIC.
enum class NodeType : std::uint8_t { kUnknown, kChannelAdapter, kSwitch, kRouter, kRnic, kUsnic };
// Shared: every network namespace sees every device. Exclusive: a device has one namespace, and
// opening it from another is refused; the agent needs shared (or a device moved on purpose).
enum class NetnsMode : std::uint8_t { kShared, kExclusive };

// Stable lower-case names for REST, metrics and events: "active", "ethernet", "ca", "shared".
std::string_view Name(PortState state);
std::string_view Name(LinkLayer layer);
std::string_view Name(NodeType type);
std::string_view Name(NetnsMode mode);

// One used entry of a port's GID table. Empty (all-zero) entries are not listed.
struct Gid {
  std::uint32_t index = 0;
  std::string gid;     // as sysfs prints it: eight colon-separated groups of four hex digits
  std::string type;    // "IB/RoCE v1" or "RoCE v2"; empty when the driver states none (iWARP)
  std::string netdev;  // the interface it belongs to (a VLAN has its own); empty on InfiniBand

  bool operator==(const Gid&) const = default;
};

struct Port {
  std::uint32_t number = 0;  // from 1
  PortState state = PortState::kNoChange;
  std::string physical_state;  // sysfs' word, lower case: "linkup", "disabled", "polling"
  LinkLayer link_layer = LinkLayer::kUnspecified;
  std::uint64_t rate_bits_per_second = 0;  // all lanes together; 0: the kernel does not say
  std::uint32_t active_mtu_bytes = 0;      // 0: unknown (the device could not be asked)
  std::uint32_t max_mtu_bytes = 0;         // 0: unknown
  std::uint32_t lid = 0;                   // InfiniBand only
  std::uint32_t sm_lid = 0;                // InfiniBand only
  std::string netdev;                      // empty on InfiniBand
  std::uint32_t gid_table_length = 0;
  std::vector<Gid> gids;

  bool operator==(const Port&) const = default;
};

// What the device can hold in total, for all its users together (ibv_query_device).
struct DeviceLimits {
  std::uint64_t max_qp = 0;
  std::uint64_t max_qp_wr = 0;  // work requests per queue
  std::uint64_t max_sge = 0;
  std::uint64_t max_cq = 0;
  std::uint64_t max_cqe = 0;  // entries per completion queue
  std::uint64_t max_mr = 0;
  std::uint64_t max_mr_size_bytes = 0;
  std::uint64_t max_pd = 0;
  std::uint64_t max_srq = 0;
  std::uint64_t max_srq_wr = 0;
  std::uint64_t max_ah = 0;
  std::uint64_t max_mw = 0;
  std::uint64_t max_qp_rd_atom = 0;  // outstanding READs and atomics per QP
  std::uint64_t max_mcast_grp = 0;
  std::uint32_t vendor_id = 0;
  std::uint32_t vendor_part_id = 0;
  std::uint32_t hw_ver = 0;

  bool operator==(const DeviceLimits&) const = default;
};

struct Device {
  std::string name;             // the RDMA link name, "mlx5_0"
  std::uint32_t index = 0;      // RDMA netlink's number for it; a re-added device gets a new one
  std::string uverbs;           // node name below /dev/infiniband, "uverbs0"; empty: no user verbs
  std::uint32_t major = 0;      // of the uverbs node; never a constant (dynamic from the 33rd on)
  std::uint32_t minor = 0;      //
  std::string driver;           // RDMA driver: "mlx5", "bnxt_re", "irdma", "rxe", "siw"
  std::uint32_t driver_id = 0;  // for the uverbs ioctl header (RDMA_DRIVER_*)
  std::string protocol;  // "ib", "roce", "iw", "opa", "usnic"; empty: the kernel does not say
  NodeType node_type = NodeType::kUnknown;
  std::string node_guid;                  // "0250:56ff:fe00:0001"
  std::string sys_image_guid;             // equal for the functions of one adapter
  std::string firmware;                   // empty for software devices
  std::string board_id;                   // empty where the driver has none
  std::string pci_address;                // "0000:3b:00.1"; empty for a software device
  std::optional<int> numa_node;           // absent: no affinity known
  std::optional<DeviceLimits> limits;     // absent: the device could not be asked
  std::vector<std::string> capabilities;  // decoded device capability flags, sorted by bit
  std::vector<Port> ports;

  bool operator==(const Device&) const = default;
};

struct Inventory {
  std::vector<Device> devices;  // sorted by name
  NetnsMode netns_mode = NetnsMode::kShared;

  bool operator==(const Inventory&) const = default;

  // Null when there is none. The pointer lives as long as this inventory is unchanged.
  const Device* Find(std::string_view name) const;
  // The device whose uverbs node has this number: how a tenant's open file is recognised.
  const Device* FindByNode(std::uint32_t major, std::uint32_t minor) const;
};

class InventoryReader {
 public:
  virtual ~InventoryReader() = default;

  // A new snapshot. A node without RDMA (module not loaded, no device) is an empty inventory, not
  // an error; a device that goes away while being read is left out.
  //
  // Blocks for some milliseconds per device: not for the loop.
  // Errors: kDenied, kUnavailable (netlink kept being interrupted), kInternal.
  virtual Result<Inventory> Read() = 0;
};

}  // namespace rb::agent::rdma
