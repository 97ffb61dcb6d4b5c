#include "agent/rdma/events.h"

#include <algorithm>

namespace rb::agent::rdma {

InventoryChange ParseUevent(std::string_view message) {
  // udev's own messages on the same family begin with "libudev"; the kernel's with "action@path".
  const std::size_t end = message.find('\0');
  if (end == std::string_view::npos || message.substr(0, end).find('@') == std::string_view::npos) {
    return {};
  }
  for (std::string_view rest = message.substr(end + 1); !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\0'));
    constexpr std::string_view kKey = "SUBSYSTEM=";
    if (line.starts_with(kKey)) {
      const std::string_view subsystem = line.substr(kKey.size());
      const bool ours = subsystem == "infiniband" || subsystem == "infiniband_verbs" ||
                        subsystem == "infiniband_mad";
      return {.devices = ours, .ports = false};
    }
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
  }
  return {};
}

}  // namespace rb::agent::rdma
