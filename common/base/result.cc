#include "common/base/result.h"

#include <array>
#include <cerrno>
#include <cstring>

namespace rb {
namespace {

ErrorCode CodeOf(int error) {
  switch (error) {
    case ENOENT:
    case ENODEV:
    case ENXIO:
    case ESRCH:
      return ErrorCode::kNotFound;
    case EEXIST:
    case EBUSY:
      return ErrorCode::kConflict;
    case EACCES:
    case EPERM:
      return ErrorCode::kDenied;
    case ENOMEM:
    case ENOSPC:
    case EMFILE:
    case ENFILE:
      return ErrorCode::kExhausted;
    case ETIMEDOUT:
      return ErrorCode::kTimeout;
    case EOPNOTSUPP:
    case ENOSYS:
      return ErrorCode::kUnsupported;
    case EAGAIN:
    case ECONNREFUSED:
      return ErrorCode::kUnavailable;
    case EINVAL:
      return ErrorCode::kInvalid;
    default:
      return ErrorCode::kInternal;
  }
}

}  // namespace

std::string_view Name(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalid:
      return "invalid";
    case ErrorCode::kNotFound:
      return "not_found";
    case ErrorCode::kConflict:
      return "conflict";
    case ErrorCode::kStale:
      return "stale";
    case ErrorCode::kExhausted:
      return "exhausted";
    case ErrorCode::kDenied:
      return "denied";
    case ErrorCode::kUnauthorized:
      return "unauthorized";
    case ErrorCode::kUnsupported:
      return "unsupported";
    case ErrorCode::kUnavailable:
      return "unavailable";
    case ErrorCode::kTimeout:
      return "timeout";
    case ErrorCode::kCorrupt:
      return "corrupt";
    case ErrorCode::kInternal:
      return "internal";
  }
  return "internal";
}

tl::unexpected<Error> FailErrno(std::string_view what, int error) {
  std::array<char, 128> text{};
  // The GNU strerror_r returns the text, not always in the buffer.
  const char* cause = ::strerror_r(error, text.data(), text.size());
  return Fail(CodeOf(error), std::string(what) + ": " + cause);
}

}  // namespace rb
