// The agent's memory across restarts: one file, replaced whole.
//
// A file that cannot be read is never overwritten: it is set aside (`<path>.corrupt-<n>`) so that a
// person can look at it, and the caller decides what to do about processes that still run.
// Threading: stateless. Blocks on the disk: not for the loop.
#pragma once

#include <optional>
#include <string>

#include "api/rest/stored_lease.h"
#include "common/base/result.h"

namespace rb::agent {

// The saved state, or nothing when there never was one.
// Errors: kCorrupt, the file is damaged and was set aside; the message names the new path;
//         others: it could not be read at all.
Result<std::optional<rest::Checkpoint>> LoadCheckpoint(const std::string& path);

// Durable when it returns. Errors leave the old file as it was.
Result<void> SaveCheckpoint(const std::string& path, const std::string& content);

}  // namespace rb::agent
