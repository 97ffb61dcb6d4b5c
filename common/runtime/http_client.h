// A blocking HTTP/1.1 call, for the command line and for tests. Daemons do not use it on the loop.
//
// One connection per call. Threading: stateless.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "common/base/result.h"
#include "common/runtime/http_message.h"

namespace rb {

// Where the server is: a Unix socket when `unix_path` is set, otherwise host and port.
struct HttpEndpoint {
  std::string unix_path;
  std::string host;
  std::uint16_t port = 0;
};

// A larger response is an error, not memory.
inline constexpr std::size_t kHttpResponseBytesMax = std::size_t{64} << 20;

// Sends method, target, headers and body of `request`; Host, Content-Length and Connection are
// added. Any status is a success here: the caller looks at it. `deadline` covers connecting,
// sending and receiving (name resolution excepted: it may block longer). Errors: kUnavailable,
// nobody answers there; kDenied, the socket's mode; kTimeout, the deadline passed;
//         kCorrupt, the answer is not HTTP; kExhausted, it is larger than kHttpResponseBytesMax;
//         kInvalid, the request cannot be sent as it is.
Result<HttpResponse> CallHttp(const HttpEndpoint& endpoint, const HttpRequest& request,
                              std::chrono::milliseconds deadline);

}  // namespace rb
