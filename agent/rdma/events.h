// Says when the inventory may have changed: hot-plug, port state, addresses (so GIDs).
//
// It does not say what changed: the reader takes a new snapshot and compares. A storm of events
// collapses into one answer.
//
// Threading: thread-compatible; runs on the loop.
#pragma once

#include <memory>
#include <string_view>

#include "common/base/result.h"

namespace rb::agent::rdma {

struct InventoryChange {
  bool devices = false;  // a device or a device node came, went or was renamed
  bool ports = false;    // link state, MTU or addresses: ports and GIDs may differ

  bool operator==(const InventoryChange&) const = default;
  explicit operator bool() const { return devices || ports; }
};

class InventoryEvents {
 public:
  virtual ~InventoryEvents() = default;

  // Readable (level-triggered) when Drain() has something to read. Owned by this object.
  virtual int fd() const = 0;

  // Reads everything that is queued, never blocks. When the kernel had to drop events both flags
  // are set: nothing is missed. Errors: kInternal, the sockets are broken.
  virtual Result<InventoryChange> Drain() = 0;
};

// Listens to the kernel (uevents of the infiniband subsystems, rtnetlink link and address groups).
// Errors: kDenied, kExhausted, kInternal.
Result<std::unique_ptr<InventoryEvents>> ListenForInventoryEvents();

// What one kernel uevent ("add@/devices/...\0ACTION=add\0SUBSYSTEM=infiniband\0...") means for the
// inventory. Anything that is not such a message means nothing.
InventoryChange ParseUevent(std::string_view message);

}  // namespace rb::agent::rdma
