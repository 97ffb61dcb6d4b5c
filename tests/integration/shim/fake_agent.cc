#include "tests/integration/shim/fake_agent.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "api/wire/text.h"
#include "common/bare/fd_message.h"

namespace rb::testing {
namespace {

void Check(bool condition, const char* what) {
  if (condition) return;
  std::perror(what);
  std::abort();
}

UniqueFd MakeMemory(std::size_t bytes) {
  UniqueFd fd(::memfd_create("rb-fake-page", MFD_CLOEXEC));
  Check(fd && ::ftruncate(fd.get(), static_cast<off_t>(bytes)) == 0, "memfd");
  return fd;
}

}  // namespace

FakeAgent::FakeAgent(std::string socket_path) : path_(std::move(socket_path)) { MakePages(); }

FakeAgent::~FakeAgent() {
  if (thread_.joinable()) {
    wake_write_.Reset();
    thread_.join();
  }
  ::unlink(path_.c_str());
  ::munmap(counters_, sizeof(wire::CountersPage));
}

void FakeAgent::MakePages() {
  policy_ = MakeMemory(sizeof(wire::PolicyPage));
  counters_fd_ = MakeMemory(sizeof(wire::CountersPage));
  void* at = ::mmap(nullptr, sizeof(wire::CountersPage), PROT_READ | PROT_WRITE, MAP_SHARED,
                    counters_fd_.get(), 0);
  Check(at != MAP_FAILED, "mmap");
  counters_ = static_cast<wire::CountersPage*>(at);
  counters_->magic = wire::kCountersMagic;
  counters_->version = wire::kPageVersion;
  counters_->slot_count = wire::kSlotsMax;

  wire::PolicyPage page{};
  page.magic = wire::kPolicyMagic;
  page.version = wire::kPageVersion;
  page.state = static_cast<std::uint32_t>(wire::PolicyState::kActive);
  for (const wire::LimitRow& row : wire::kLimitTable) {
    page.limits[Index(row.limit)] = row.default_value;
  }
  WritePolicy(page);
}

void FakeAgent::ReplacePages() {
  const std::lock_guard<std::mutex> guard(pages_);
  ::munmap(counters_, sizeof(wire::CountersPage));
  MakePages();
}

void FakeAgent::WritePolicy(const wire::PolicyPage& page) {
  constexpr off_t kGenerationAt = offsetof(wire::PolicyPage, generation);
  const std::uint64_t generation = policy_copy_.generation;
  policy_copy_ = page;
  policy_copy_.generation = generation + 2;
  const std::uint64_t odd = generation + 1;
  wire::PolicyPage body = policy_copy_;
  body.generation = odd;
  const int fd = policy_.get();
  Check(::pwrite(fd, &odd, sizeof(odd), kGenerationAt) == sizeof(odd), "pwrite");
  Check(::pwrite(fd, &body, sizeof(body), 0) == sizeof(body), "pwrite");
  Check(::pwrite(fd, &policy_copy_.generation, sizeof(odd), kGenerationAt) == sizeof(odd),
        "pwrite");
}

void FakeAgent::Start() {
  listener_ = UniqueFd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path_.c_str(), sizeof(address.sun_path) - 1);
  ::unlink(path_.c_str());
  Check(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0,
        "bind");
  Check(::chmod(path_.c_str(), 0666) == 0 && ::listen(listener_.get(), 64) == 0, "listen");
  int ends[2];  // NOLINT(modernize-avoid-c-arrays)
  Check(::pipe2(ends, O_CLOEXEC) == 0, "pipe");
  wake_read_ = UniqueFd(ends[0]);
  wake_write_ = UniqueFd(ends[1]);
  thread_ = std::thread([this] { Serve(); });
}

void FakeAgent::Serve() {
  std::vector<UniqueFd> peers;
  while (true) {
    std::vector<pollfd> entries{{wake_read_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
    for (const UniqueFd& peer : peers) entries.push_back({peer.get(), POLLIN, 0});
    if (::poll(entries.data(), entries.size(), -1) < 0) continue;
    if (entries[0].revents != 0) return;
    std::vector<UniqueFd> kept;
    for (std::size_t i = 0; i < peers.size(); ++i) {
      if (entries[i + 2].revents == 0 || Answer(peers[i].get()))
        kept.push_back(std::move(peers[i]));
    }
    peers = std::move(kept);
    if (entries[1].revents != 0) {
      peers.emplace_back(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    }
  }
}

// False ends the connection.
bool FakeAgent::Answer(int peer) {
  alignas(8) std::array<char, wire::kFrameBytesMax> frame{};
  ReceivedMessage message;
  if (ReceiveMessage(peer, frame.data(), frame.size(), &message, 0) != 0) return false;
  wire::FrameHeader header{};
  if (message.bytes < sizeof(header)) return false;
  std::memcpy(&header, frame.data(), sizeof(header));
  if (silent_) return true;
  switch (static_cast<wire::FrameType>(header.type)) {
    case wire::FrameType::kHello:
      ++hellos_;
      if (hello_errno_ != 0) {
        SendError(peer, header.sequence, hello_errno_);
      } else {
        Grant(peer, header.sequence);
      }
      return true;
    case wire::FrameType::kOpen: {
      wire::OpenRequest request{};
      std::memcpy(&request, frame.data(), sizeof(request));
      Open(peer, request);
      return true;
    }
    default:
      return false;
  }
}

void FakeAgent::SendError(int peer, std::uint32_t sequence, std::uint32_t errno_value) {
  auto error = wire::MakeFrame<wire::ErrorReply>(wire::FrameType::kError, sequence);
  error.errno_value = errno_value;
  wire::SetText(&error.reason, "test");
  SendMessage(peer, &error, sizeof(error), nullptr, 0, 0);
}

void FakeAgent::Grant(int peer, std::uint32_t sequence) {
  const std::lock_guard<std::mutex> guard(pages_);
  auto grant = wire::MakeFrame<wire::GrantReply>(wire::FrameType::kGrant, sequence);
  wire::SetText(&grant.lease_id, "lease-test");
  wire::SetText(&grant.tenant, "test");
  grant.device_count = static_cast<std::uint32_t>(devices_.size());
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    wire::SetText(&grant.devices[i].name, devices_[i].name.c_str());
    wire::SetText(&grant.devices[i].node, devices_[i].node.c_str());
    grant.devices[i].major = devices_[i].major;
    grant.devices[i].minor = devices_[i].minor;
    grant.devices[i].driver_id = devices_[i].driver_id;
  }
  // A read-only descriptor of the same file, as a tenant gets it.
  const std::string again = "/proc/self/fd/" + std::to_string(policy_.get());
  const UniqueFd read_only(::open(again.c_str(), O_RDONLY | O_CLOEXEC));
  const int fds[] = {read_only.get(), counters_fd_.get()};  // NOLINT(modernize-avoid-c-arrays)
  SendMessage(peer, &grant, sizeof(grant), fds, 2, 0);
}

void FakeAgent::Open(int peer, const wire::OpenRequest& request) {
  const std::uint32_t sequence = request.header.sequence;
  ++opens_;
  if (open_errno_ != 0) return SendError(peer, sequence, open_errno_);
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    if (devices_[i].name != request.device.data()) continue;
    const UniqueFd file(::open(devices_[i].file.c_str(), O_RDWR | O_CLOEXEC));
    if (!file) return SendError(peer, sequence, static_cast<std::uint32_t>(errno));
    const std::lock_guard<std::mutex> guard(pages_);
    auto reply = wire::MakeFrame<wire::OpenReply>(wire::FrameType::kOpened, sequence);
    reply.slot = next_slot_++ % wire::kSlotsMax;
    reply.device_index = static_cast<std::uint32_t>(i);
    reply.driver_id = devices_[i].driver_id;
    wire::CounterSlot& slot = counters_->slots[reply.slot];
    slot.device_index = reply.device_index;
    wire::Store<std::uint32_t>(&slot.holders, 1);
    wire::StoreRelease(&slot.state, static_cast<std::uint32_t>(wire::SlotState::kOpen));
    const int fd = file.get();
    SendMessage(peer, &reply, sizeof(reply), &fd, 1, 0);
    return;
  }
  SendError(peer, sequence, ENOENT);
}

}  // namespace rb::testing
