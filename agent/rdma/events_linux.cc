#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>
#include <optional>
#include <string>
#include <utility>

#include "agent/rdma/events.h"
#include "common/bare/unique_fd.h"

namespace rb::agent::rdma {
namespace {

constexpr std::uint32_t kKernelUevents = 1;  // the other group is udev's
constexpr std::size_t kDatagramBytesMax = std::size_t{32} * 1024;
// Small on purpose: an overrun costs one snapshot, a large buffer is kernel memory for nothing.
constexpr int kReceiveBytes = 256 * 1024;
// So that a storm of addresses cannot hold the loop: the descriptor stays readable.
constexpr int kDatagramsMax = 1024;

Result<UniqueFd> Listen(int family, std::uint32_t groups) {
  UniqueFd fd(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, family));
  if (!fd) return FailErrno("open event socket", errno);
  if (::setsockopt(fd.get(), SOL_SOCKET, SO_RCVBUF, &kReceiveBytes, sizeof(kReceiveBytes)) != 0) {
    return FailErrno("size event socket", errno);
  }
  sockaddr_nl address{};
  address.nl_family = AF_NETLINK;
  address.nl_groups = groups;
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return FailErrno("bind event socket", errno);
  }
  return fd;
}

Result<void> Watch(int epoll, int fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  if (::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0) return FailErrno("watch events", errno);
  return {};
}

enum class Read : std::uint8_t { kEmpty, kForeign, kKernel, kOverrun };

class LinuxInventoryEvents final : public InventoryEvents {
 public:
  LinuxInventoryEvents(UniqueFd epoll, UniqueFd uevents, UniqueFd routes)
      : epoll_(std::move(epoll)), uevents_(std::move(uevents)), routes_(std::move(routes)) {}

  int fd() const override { return epoll_.get(); }

  Result<InventoryChange> Drain() override {
    InventoryChange change;
    for (int i = 0; i < kDatagramsMax; ++i) {
      RB_TRY(const Read read, ReadOne(uevents_.get()));
      if (read == Read::kEmpty) break;
      if (read == Read::kOverrun) change = {.devices = true, .ports = true};
      if (read == Read::kKernel) change.devices |= ParseUevent(datagram_).devices;
    }
    for (int i = 0; i < kDatagramsMax; ++i) {
      RB_TRY(const Read read, ReadOne(routes_.get()));
      if (read == Read::kEmpty) break;
      // Every link and address message counts: which interface is below which device changes too.
      if (read != Read::kForeign) change.ports = true;
    }
    return change;
  }

 private:
  // Reads one datagram into datagram_.
  Result<Read> ReadOne(int socket) {
    datagram_.resize(kDatagramBytesMax);
    sockaddr_nl from{};
    socklen_t from_bytes = sizeof(from);
    const ssize_t got = ::recvfrom(socket, datagram_.data(), datagram_.size(), 0,
                                   reinterpret_cast<sockaddr*>(&from), &from_bytes);
    if (got < 0 && errno == EAGAIN) return Read::kEmpty;
    if (got < 0 && errno == EINTR) return Read::kForeign;
    if (got < 0 && errno == ENOBUFS) return Read::kOverrun;
    if (got < 0) return FailErrno("read events", errno);
    datagram_.resize(static_cast<std::size_t>(got));
    // Other processes can send to these sockets; the kernel's port is 0.
    return from.nl_pid == 0 ? Read::kKernel : Read::kForeign;
  }

  const UniqueFd epoll_;
  const UniqueFd uevents_;
  const UniqueFd routes_;
  std::string datagram_;
};

}  // namespace

Result<std::unique_ptr<InventoryEvents>> ListenForInventoryEvents() {
  RB_TRY(UniqueFd uevents, Listen(NETLINK_KOBJECT_UEVENT, kKernelUevents));
  RB_TRY(UniqueFd routes,
         Listen(NETLINK_ROUTE, RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR));
  // One descriptor for the loop: readable while either socket is.
  UniqueFd epoll(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll) return FailErrno("make event set", errno);
  RB_TRY_VOID(Watch(epoll.get(), uevents.get()));
  RB_TRY_VOID(Watch(epoll.get(), routes.get()));
  return std::make_unique<LinuxInventoryEvents>(std::move(epoll), std::move(uevents),
                                                std::move(routes));
}

}  // namespace rb::agent::rdma
