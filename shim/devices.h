// Answers open, stat and access for device nodes out of the lease instead of the file system.
//
// A leased device exists, with the numbers that the kernel gave it; any other uverbs node does not,
// whatever lies in /dev. Paths that are not ours are left to the caller.
//
// Threading: safe. errno values as results; none of these touches errno.
#pragma once

#include <sys/stat.h>

#include "shim/device_path.h"

namespace rb::shim {

enum class Whose : std::uint8_t { kKernel, kOurs };

// Who answers for `path`.
Whose OwnerOf(const DevicePath& path);

// Each returns 0 or an errno value: ENOENT, not leased, no lease or no agent; ETIMEDOUT.
int StatDevice(const DevicePath& path, struct stat* status);
int StatxDevice(const DevicePath& path, struct statx* status);
int AccessDevice(const DevicePath& path, int mode);

// Opens a leased device through the agent and enters it into the table. `fd` gets the descriptor,
// close-on-exec as `flags` say. Also EMFILE, and what the agent answered (ENOMEM past the lease's
// contexts).
int OpenDevice(const DevicePath& path, int flags, int* fd);

}  // namespace rb::shim
