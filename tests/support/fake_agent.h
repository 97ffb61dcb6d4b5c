// Both sockets of an agent for tests of the rdmactl program: one lease, everything remembered.
// Threading: the accessors may be called from the test's thread at any time.
#pragma once

#include <sys/types.h>

#include <future>
#include <mutex>
#include <string>
#include <vector>

#include "api/rest/lease.h"
#include "common/bare/unique_fd.h"
#include "tests/support/server_thread.h"
#include "tests/support/temp_tree.h"

namespace rb::test {

class FakeAgent {
 public:
  struct Entered {
    std::string token;
    pid_t pid = 0;
    uid_t uid = 0;
  };

  FakeAgent();
  ~FakeAgent();
  FakeAgent(const FakeAgent&) = delete;
  FakeAgent& operator=(const FakeAgent&) = delete;

  std::string admin_socket() const { return tree_.Path("admin.sock"); }
  std::string Path(const std::string& name) const { return tree_.Path(name); }

  // ENTER is answered with this reason from now on.
  void RefuseEnter(std::string reason);

  // ENTER is answered by closing the connection.
  void HangUpOnEnter();

  // "POST /v1/leases", …, in order, and the bodies.
  std::vector<std::string> calls();
  std::string last_body();
  std::vector<Entered> entered();

 private:
  Task<HttpResponse> Handle(HttpRequest request);
  HttpResponse Answer(const HttpRequest& request) const;
  void ServeTenants();
  void ServeEnter(int connection);

  TempTree tree_;
  rest::Lease lease_;
  std::mutex mutex_;  // the server's thread, the tenant socket's and the test's
  std::vector<std::string> calls_;
  std::string last_body_;
  std::string refusal_;
  bool hang_up_ = false;
  std::vector<Entered> entered_;
  UniqueFd stop_;
  UniqueFd tenants_;
  std::unique_ptr<ServerThread> server_;
  std::future<void> tenant_thread_;
};

}  // namespace rb::test
