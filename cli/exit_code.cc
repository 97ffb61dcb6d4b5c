#include "cli/exit_code.h"

namespace rb::cli {

int ExitCodeOf(const Error& error) {
  if (error.reason == kReasonCannotExecute) return kExitCannotExecute;
  if (error.reason == kReasonNoCommand) return kExitNoCommand;
  switch (error.code) {
    case ErrorCode::kInvalid:
      return kExitUsage;
    case ErrorCode::kNotFound:
      return kExitNotFound;
    case ErrorCode::kDenied:
    case ErrorCode::kUnauthorized:
      return kExitDenied;
    case ErrorCode::kConflict:
    case ErrorCode::kStale:
    case ErrorCode::kExhausted:
      return kExitConflict;
    case ErrorCode::kUnsupported:
    case ErrorCode::kUnavailable:
    case ErrorCode::kTimeout:
    case ErrorCode::kCorrupt:
    case ErrorCode::kInternal:
      return kExitFailed;
  }
  return kExitFailed;
}

}  // namespace rb::cli
