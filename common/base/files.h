// Small files read and written whole: proc, sysfs, cgroupfs, the checkpoint.
//
// Kernel files are reached relative to a directory descriptor where a path could be recycled
// between two reads (a cgroup removed and made again); an open directory cannot.
// Threading: stateless. All calls may block: not for the loop on slow disks.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "common/bare/unique_fd.h"
#include "common/base/result.h"

namespace rb {

// A file larger than this is refused: nothing that we read whole is.
inline constexpr std::size_t kSmallFileBytesMax = std::size_t{16} * 1024 * 1024;

// Opens a directory for the *At calls below (O_PATH is not enough: it cannot be listed).
Result<UniqueFd> OpenDirectory(const std::string& path);

// The whole content. Errors: kNotFound, kDenied, kExhausted (larger than kSmallFileBytesMax).
Result<std::string> ReadSmallFile(const std::string& path);
Result<std::string> ReadSmallFileAt(int directory, const std::string& name);

// One write(2) of `text` to an existing file, as kernel files want it.
Result<void> WriteKernelFile(const std::string& path, std::string_view text);
Result<void> WriteKernelFileAt(int directory, const std::string& name, std::string_view text);

// Replaces `path` so that a reader, or a crash at any moment, sees the old content or the new,
// whole: write to a temporary beside it, fsync, rename, fsync the directory. Mode 0600.
Result<void> ReplaceFile(const std::string& path, std::string_view content);

}  // namespace rb
