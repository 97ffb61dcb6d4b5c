#include "agent/rdma/query_device.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace rb::agent::rdma {
namespace {

struct Capability {
  unsigned bit;
  std::string_view name;
};

// The kernel's device capability bits that mean something to users.
constexpr std::array kCapabilities{
    Capability{0, "resize_max_wr"},
    Capability{1, "bad_pkey_counter"},
    Capability{2, "bad_qkey_counter"},
    Capability{3, "raw_multicast"},
    Capability{4, "auto_path_migration"},
    Capability{5, "change_phy_port"},
    Capability{6, "ud_av_port_enforce"},
    Capability{7, "current_qp_state_modify"},
    Capability{8, "shutdown_port"},
    Capability{10, "port_active_event"},
    Capability{11, "sys_image_guid"},
    Capability{12, "rc_rnr_nak_generation"},
    Capability{13, "srq_resize"},
    Capability{14, "notify_n_cq"},
    Capability{17, "memory_window"},
    Capability{18, "ud_ip_checksum"},
    Capability{20, "xrc"},
    Capability{21, "memory_management_extensions"},
    Capability{23, "memory_window_type_2a"},
    Capability{24, "memory_window_type_2b"},
    Capability{25, "rc_ip_checksum"},
    Capability{26, "raw_ip_checksum"},
    Capability{29, "managed_flow_steering"},
    Capability{34, "raw_scatter_fcs"},
    Capability{36, "pci_write_end_padding"},
};

}  // namespace

std::vector<std::string> CapabilityNames(std::uint64_t flags) {
  std::vector<std::string> names;
  for (unsigned bit = 0; bit < 64; ++bit) {
    if ((flags >> bit & 1) == 0) continue;
    const auto* const found = std::ranges::find(kCapabilities, bit, &Capability::bit);
    names.push_back(found == kCapabilities.end() ? "bit_" + std::to_string(bit)
                                                 : std::string(found->name));
  }
  return names;
}

}  // namespace rb::agent::rdma
