#include <rdma/rdma_user_ioctl_cmds.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "agent/rdma/uverbs_control.h"
#include "agent/rdma/uverbs_ioctl.h"

namespace rb::agent::rdma {
namespace {

constexpr std::size_t kHandlesFirstGuess = 256;

// 0 or an errno value.
int Issue(int fd, UverbsCommand& command) {
  while (::ioctl(fd, RDMA_VERBS_IOCTL, command.bytes().data()) != 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

// The device does not have this kind of object, or the kernel does not know it.
bool MeansNoSuchKind(int error) {
  return error == ENOENT || error == ENOMSG || error == EPROTONOSUPPORT || error == EOPNOTSUPP;
}

tl::unexpected<Error> FailUverbs(const std::string& what, int error) {
  // EIO from the framework: the device was unplugged and took its objects with it.
  if (error == EIO) return Fail(ErrorCode::kNotFound, what + ": the device is gone");
  return FailErrno(what, error);
}

}  // namespace

Result<std::vector<std::uint32_t>> LinuxUverbsControl::ListHandles(UverbsFile file,
                                                                   const ObjectKind& kind) {
  const std::string what = "list handles of " + std::string(kind.name);
  for (std::size_t room = kHandlesFirstGuess;; room = std::min(room * 8, kHandlesListMax)) {
    std::vector<std::uint32_t> handles(room);
    std::uint32_t total = 0;
    UverbsCommand command = EncodeListHandles(file.driver_id, kind.object_id, handles, total);
    const int error = Issue(file.fd, command);
    if (MeansNoSuchKind(error)) return std::vector<std::uint32_t>{};
    if (error != 0) return FailUverbs(what, error);
    // The kernel fills what fits and does not say that there is more: a full list may be cut.
    if (total < room || room == kHandlesListMax) {
      handles.resize(std::min<std::size_t>(total, room));
      return handles;
    }
  }
}

Result<void> LinuxUverbsControl::SetQpError(UverbsFile file, std::uint32_t qp_handle) {
  std::array<std::byte, kModifyQpRequestBytes> request{};
  UverbsCommand command = EncodeSetQpError(file.driver_id, qp_handle, request);
  const int error = Issue(file.fd, command);
  if (error != 0) return FailUverbs("set qp " + std::to_string(qp_handle) + " to error", error);
  return {};
}

Result<QpInfo> LinuxUverbsControl::QueryQp(UverbsFile file, std::uint32_t qp_handle) {
  std::array<std::byte, kQueryQpRequestBytes> request{};
  std::array<std::byte, kQueryQpResponseBytes> response{};
  UverbsCommand command = EncodeQueryQp(file.driver_id, qp_handle, request, response);
  const int error = Issue(file.fd, command);
  if (error != 0) return FailUverbs("query qp " + std::to_string(qp_handle), error);
  return DecodeQueryQp(response);
}

Result<void> LinuxUverbsControl::Destroy(UverbsFile file, const ObjectKind& kind,
                                         std::uint32_t handle) {
  std::uint64_t response = 0;
  UverbsCommand command = EncodeDestroy(file.driver_id, kind, handle, response);
  const int error = Issue(file.fd, command);
  if (error != 0) {
    return FailUverbs("destroy " + std::string(kind.name) + " " + std::to_string(handle), error);
  }
  return {};
}

}  // namespace rb::agent::rdma
