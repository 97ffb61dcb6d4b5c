// The control path: every uverbs ioctl and write() on a leased file passes through here.
//
// decode -> judge (policy) -> charge -> rewrite a copy -> the kernel -> settle. The application
// sees what a NIC with exactly these limits would answer.
//
// Threading: safe. Result and errno as ioctl(2) and write(2).
#pragma once

#include <rdma/rdma_user_ioctl_cmds.h>
#include <sys/types.h>

#include <cstddef>

#include "shim/fd_table.h"

namespace rb::shim {

// The kernel's side of a uverbs ioctl: KernelIoctl in the shim, a fake in tests.
using VerbsCall = int (*)(int fd, ib_uverbs_ioctl_hdr* header);
int KernelIoctl(int fd, ib_uverbs_ioctl_hdr* header);

int ControlIoctl(VerbsCall kernel, File* file, int fd, ib_uverbs_ioctl_hdr* header);

// A uverbs command by write(): re-issued as an ioctl, see uverbs/write_abi.h.
ssize_t ControlWrite(VerbsCall kernel, File* file, int fd, const void* buffer, std::size_t bytes);

}  // namespace rb::shim
