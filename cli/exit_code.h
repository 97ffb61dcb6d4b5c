// What rdmactl tells the shell. Threading: constants and pure functions.
#pragma once

#include "common/base/result.h"

namespace rb::cli {

inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;  // the arguments, or a value the agent finds wrong
inline constexpr int kExitNotFound = 3;
inline constexpr int kExitDenied = 4;
inline constexpr int kExitConflict = 5;  // also a limit or a capacity that would be passed
// Of `run`, as env(1) and others have them; otherwise it exits as the command did.
inline constexpr int kExitCannotExecute = 126;
inline constexpr int kExitNoCommand = 127;

// Reasons of the errors that `run` answers with the last two codes.
inline constexpr const char* kReasonCannotExecute = "cannot_execute";
inline constexpr const char* kReasonNoCommand = "no_command";

int ExitCodeOf(const Error& error);

}  // namespace rb::cli
