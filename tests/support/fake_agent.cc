#include "tests/support/fake_agent.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <array>
#include <cstring>

#include "api/rest/node.h"
#include "api/wire/frames.h"
#include "api/wire/text.h"
#include "common/bare/fd_message.h"
#include "common/runtime/unix_listener.h"

namespace rb::test {

FakeAgent::FakeAgent() : stop_(::eventfd(0, EFD_CLOEXEC)) {
  lease_.metadata.name = "lease-0";
  lease_.metadata.revision = 7;
  lease_.spec.tenant = "alice";
  lease_.spec.ttl_seconds = 600;
  lease_.status.phase = rest::Phase::kActive;
  lease_.status.devices = {{.name = "rxe0", .port = 1, .dscp = {}, .sl = {}}};
  std::filesystem::permissions(tree_.root(), std::filesystem::perms(0755));
  tree_.Write("tenant/keep", "");
  auto tenants = ListenUnixSeqpacket(tree_.Path("tenant/agent.sock"), 0666);
  RB_CHECK(tenants.has_value());
  tenants_ = std::move(*tenants);
  server_ = std::make_unique<ServerThread>(
      ListenUnixStream(admin_socket(), 0600),
      [this](HttpRequest request) { return Handle(std::move(request)); });
  tenant_thread_ = std::async(std::launch::async, [this] { ServeTenants(); });
}

FakeAgent::~FakeAgent() {
  (void)::eventfd_write(stop_.get(), 1);
  tenant_thread_.wait();
}

void FakeAgent::RefuseEnter(std::string reason) {
  const std::scoped_lock lock(mutex_);
  refusal_ = std::move(reason);
}

void FakeAgent::HangUpOnEnter() {
  const std::scoped_lock lock(mutex_);
  hang_up_ = true;
}

std::vector<std::string> FakeAgent::calls() {
  const std::scoped_lock lock(mutex_);
  return calls_;
}

std::string FakeAgent::last_body() {
  const std::scoped_lock lock(mutex_);
  return last_body_;
}

std::vector<FakeAgent::Entered> FakeAgent::entered() {
  const std::scoped_lock lock(mutex_);
  return entered_;
}

Task<HttpResponse> FakeAgent::Handle(HttpRequest request) {
  const std::scoped_lock lock(mutex_);
  calls_.push_back(request.method + " " + request.target);
  last_body_ = request.body;
  co_return Answer(request);
}

HttpResponse FakeAgent::Answer(const HttpRequest& request) const {
  HttpResponse response;
  response.headers = {{"ETag", "\"7\""}};
  if (request.target == "/v1/leases" && request.method == "GET") {
    response.body = rest::DumpLeaseList({lease_});
  } else if (request.target == "/v1/leases") {
    rest::Lease created = lease_;
    created.status.token = "rbl_secret";
    response.status = 201;
    response.body = rest::DumpLease(created);
  } else if (request.target.starts_with("/v1/leases/lease-0")) {
    response.body = rest::DumpLease(lease_);
  } else {
    return ProblemResponse(404, "not_found", "no such thing: " + request.target);
  }
  return response;
}

void FakeAgent::ServeTenants() {
  std::array<pollfd, 2> entries{pollfd{.fd = stop_.get(), .events = POLLIN, .revents = 0},
                                pollfd{.fd = tenants_.get(), .events = POLLIN, .revents = 0}};
  while (true) {
    (void)::poll(entries.data(), entries.size(), -1);
    if (entries[0].revents != 0) return;
    const UniqueFd connection(::accept4(tenants_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (connection) ServeEnter(connection.get());
  }
}

void FakeAgent::ServeEnter(int connection) {
  wire::EnterRequest request{};
  ReceivedMessage message;
  if (ReceiveMessage(connection, &request, sizeof(request), &message, 0) != 0) return;
  ucred peer{};
  socklen_t bytes = sizeof(peer);
  (void)::getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &bytes);
  const std::scoped_lock lock(mutex_);
  entered_.push_back({.token = request.token.data(), .pid = peer.pid, .uid = peer.uid});
  if (hang_up_) return;
  if (refusal_.empty()) {
    auto reply =
        wire::MakeFrame<wire::EnterReply>(wire::FrameType::kEntered, request.header.sequence);
    wire::SetText(&reply.lease_id, "lease-0");
    (void)SendMessage(connection, &reply, sizeof(reply), nullptr, 0, 0);
    return;
  }
  auto reply = wire::MakeFrame<wire::ErrorReply>(wire::FrameType::kError, request.header.sequence);
  reply.errno_value = EACCES;
  wire::SetText(&reply.reason, refusal_.c_str());
  wire::SetText(&reply.message, "not this one");
  (void)SendMessage(connection, &reply, sizeof(reply), nullptr, 0, 0);
}

}  // namespace rb::test
