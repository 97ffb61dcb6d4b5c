// Listening Unix sockets: streams for REST, SEQPACKET for the shim's frames.
//
// It only makes the socket; http_server.h or the caller accepts. Threading: stateless.
#pragma once

#include <sys/types.h>

#include <string>

#include "common/bare/unique_fd.h"
#include "common/base/result.h"

namespace rb {

// A listening, non-blocking, close-on-exec socket at `path` with exactly `mode`, whatever the
// umask; nobody can connect before the mode is set. A socket file that nobody answers on (its owner
// died) is replaced; a living one, and a file that is not a socket, are left alone. Errors, all
// naming the path: kConflict, somebody listens there, or the file is no socket;
//         kInvalid, the path is too long for sun_path; kDenied, kNotFound for the directory.
Result<UniqueFd> ListenUnixStream(const std::string& path, mode_t mode);
Result<UniqueFd> ListenUnixSeqpacket(const std::string& path, mode_t mode);

}  // namespace rb
