// Result<T>: a value, or an Error that says what failed and why.
//
// Expected failures travel as values: `RB_TRY(UniqueFd fd, Open(path));` passes them up.
// A leaf never logs; whoever handles the error does, once. Bugs are RB_CHECK (aborts).
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace rb {

enum class ErrorCode : std::uint8_t {
  kInvalid,       // the caller's input is wrong
  kNotFound,      // the named thing does not exist
  kConflict,      // it exists already, or its state does not allow this
  kStale,         // the caller's revision is not the current one
  kExhausted,     // a limit or capacity would be passed
  kDenied,        // the caller may not do this
  kUnauthorized,  // the caller did not say who it is
  kUnsupported,   // this node, kernel or NIC cannot
  kUnavailable,   // cannot now; may work later
  kTimeout,       // the deadline passed
  kCorrupt,       // stored or received data is damaged
  kInternal,      // the operating system refused something that should have worked
};

// The stable lower-case name of a code, e.g. "not_found"; used in logs, REST and metrics.
std::string_view Name(ErrorCode code);

struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;  // lower case, "verb object: cause"
  // A more specific stable code for people and programs (e.g. "limit_qps"); empty: Name(code).
  std::string reason = {};

  bool operator==(const Error&) const = default;
};

template <typename T>
using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> Fail(ErrorCode code, std::string message, std::string reason = {}) {
  return tl::unexpected<Error>(
      Error{.code = code, .message = std::move(message), .reason = std::move(reason)});
}

// "what: <strerror(error)>", with the code that fits the errno value.
tl::unexpected<Error> FailErrno(std::string_view what, int error);

}  // namespace rb

#define RB_CONCAT_INNER(a, b) a##b
#define RB_CONCAT(a, b) RB_CONCAT_INNER(a, b)

// RB_TRY(auto fd, Open(path)): declares `fd`, or returns the error.
#define RB_TRY(declaration, ...) \
  RB_TRY_IMPL(return, RB_CONCAT(rb_try_, __LINE__), declaration, __VA_ARGS__)
#define RB_CO_TRY(declaration, ...) \
  RB_TRY_IMPL(co_return, RB_CONCAT(rb_try_, __LINE__), declaration, __VA_ARGS__)
#define RB_TRY_IMPL(return_word, temporary, declaration, ...)                                  \
  auto temporary = (__VA_ARGS__);                                                              \
  if (!(temporary)) return_word ::tl::unexpected<::rb::Error>(std::move((temporary).error())); \
  declaration = std::move(*(temporary))

// The same for Result<void>.
#define RB_TRY_VOID(...) RB_TRY_VOID_IMPL(return, RB_CONCAT(rb_try_, __LINE__), __VA_ARGS__)
#define RB_CO_TRY_VOID(...) RB_TRY_VOID_IMPL(co_return, RB_CONCAT(rb_try_, __LINE__), __VA_ARGS__)
#define RB_TRY_VOID_IMPL(return_word, temporary, ...) \
  auto temporary = (__VA_ARGS__);                     \
  if (!(temporary)) return_word ::tl::unexpected<::rb::Error>(std::move((temporary).error()))

// A broken invariant is a bug of ours: say where and stop.
#define RB_CHECK(condition)                                                              \
  do {                                                                                   \
    if (!(condition)) {                                                                  \
      std::fprintf(stderr, "%s:%d: check failed: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                      \
    }                                                                                    \
  } while (false)
