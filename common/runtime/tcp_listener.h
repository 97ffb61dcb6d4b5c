// Listening TCP sockets. It only makes the socket; http_server.h accepts. Threading: stateless.
#pragma once

#include <cstdint>
#include <string>

#include "common/bare/unique_fd.h"
#include "common/base/result.h"

namespace rb {

// A listening, non-blocking, close-on-exec socket. `address` is a numeric IPv4 or IPv6 address
// ("::" accepts both families); port 0 lets the kernel choose (BoundPort() tells). Errors, naming
// address and port: kInvalid, not a numeric address; kConflict, the port is taken;
//         kDenied, a privileged port.
Result<UniqueFd> ListenTcp(const std::string& address, std::uint16_t port);

// The local port of an IPv4 or IPv6 socket.
Result<std::uint16_t> BoundPort(int fd);

}  // namespace rb
