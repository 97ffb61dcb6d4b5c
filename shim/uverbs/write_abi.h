// Turns an old write() on a uverbs file into the ioctl INVOKE_WRITE that does the same.
//
// Why: the kernel refuses write() on a file that another process opened (EACCES), and every uverbs
// file under a lease was opened by the agent. The ioctl runs the same handler without that check.
// rxe and siw ring their send doorbell with a raw write(), so this is on the data path.
//
// Pure. Threading: stateless. Ownership: the built call borrows the caller's buffer.
#pragma once

#include <rdma/rdma_user_ioctl_cmds.h>

#include <cstddef>
#include <cstdint>

namespace rb::shim {

// An ioctl header with room for every attribute that INVOKE_WRITE takes.
struct InvokeWrite {
  std::uint64_t header[sizeof(ib_uverbs_ioctl_hdr) / 8];  // NOLINT(modernize-avoid-c-arrays)
  ib_uverbs_attr attrs[5];                                // NOLINT(modernize-avoid-c-arrays)

  ib_uverbs_ioctl_hdr* get() { return reinterpret_cast<ib_uverbs_ioctl_hdr*>(this); }
};

// Returns 0, or EINVAL when `buffer` is not a whole uverbs command (or one that an ioctl cannot
// carry: an attribute holds at most 65,535 bytes).
int BuildInvokeWrite(const void* buffer, std::size_t bytes, std::uint32_t driver_id,
                     InvokeWrite* call);

}  // namespace rb::shim
