// What each command but `run` does (that is run_command.h).
//
// Results go to `out`; nothing is printed when an error is returned. Threading: one thread.
#pragma once

#include <iosfwd>

#include "cli/node_api.h"
#include "cli/options.h"
#include "common/base/result.h"

namespace rb::cli {

// Where and how a command prints.
struct Output {
  std::ostream& out;
  Format format = Format::kTable;
};

Result<void> RunGet(const GetOptions& options, NodeApi& api, const Output& output);
Result<void> RunCreate(const CreateOptions& options, NodeApi& api, const Output& output);
Result<void> RunPatch(const PatchOptions& options, NodeApi& api, const Output& output);
Result<void> RunRenew(const RenewOptions& options, NodeApi& api, const Output& output);
Result<void> RunRevoke(const RevokeOptions& options, NodeApi& api, const Output& output);

}  // namespace rb::cli
