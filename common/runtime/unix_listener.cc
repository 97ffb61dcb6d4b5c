#include "common/runtime/unix_listener.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace rb {
namespace {

Result<sockaddr_un> AddressOf(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(address.sun_path)) {
    return Fail(ErrorCode::kInvalid, "listen on " + path + ": a socket path has 1 to " +
                                         std::to_string(sizeof(address.sun_path) - 1) + " bytes");
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

Result<UniqueFd> MakeSocket(const std::string& path, int type) {
  UniqueFd fd(::socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return FailErrno("listen on " + path, errno);
  return fd;
}

const sockaddr* Generic(const sockaddr_un& address) {
  return reinterpret_cast<const sockaddr*>(&address);  // the sockets API's own cast
}

// Removes a socket file that no process listens on. Anything else at the path is a conflict.
Result<void> RemoveStale(const std::string& path, const sockaddr_un& address, int type) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) return {};
    return FailErrno("listen on " + path, errno);
  }
  if (!S_ISSOCK(status.st_mode)) {
    return Fail(ErrorCode::kConflict, "listen on " + path + ": the file exists and is no socket");
  }
  RB_TRY(const UniqueFd probe, MakeSocket(path, type));
  // A full backlog (EAGAIN) or another socket type (EPROTOTYPE) also means that somebody is there.
  const bool refused =
      ::connect(probe.get(), Generic(address), sizeof(address)) != 0 && errno == ECONNREFUSED;
  if (!refused) {
    return Fail(ErrorCode::kConflict, "listen on " + path + ": address already in use");
  }
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return FailErrno("remove " + path, errno);
  return {};
}

Result<UniqueFd> Listen(const std::string& path, mode_t mode, int type) {
  RB_TRY(const sockaddr_un address, AddressOf(path));
  RB_TRY_VOID(RemoveStale(path, address, type));
  RB_TRY(UniqueFd fd, MakeSocket(path, type));
  if (::bind(fd.get(), Generic(address), sizeof(address)) != 0) {
    if (errno == EADDRINUSE) {
      return Fail(ErrorCode::kConflict, "listen on " + path + ": address already in use");
    }
    return FailErrno("listen on " + path, errno);
  }
  // Before listen(2) every connect is refused, so nobody can slip in under the umask's mode.
  if (::chmod(path.c_str(), mode) != 0) return FailErrno("change the mode of " + path, errno);
  if (::listen(fd.get(), SOMAXCONN) != 0) return FailErrno("listen on " + path, errno);
  return fd;
}

}  // namespace

Result<UniqueFd> ListenUnixStream(const std::string& path, mode_t mode) {
  return Listen(path, mode, SOCK_STREAM);
}

Result<UniqueFd> ListenUnixSeqpacket(const std::string& path, mode_t mode) {
  return Listen(path, mode, SOCK_SEQPACKET);
}

}  // namespace rb
