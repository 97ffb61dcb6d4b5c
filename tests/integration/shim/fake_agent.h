// An agent for the shim's tests: one lease, granted to whoever asks, with its two pages.
//
// It speaks the real frames over a real socket and hands out real files (/dev/infiniband/NODE, or
// any file where there is no RDMA), but attests nobody, enforces nothing and settles nothing.
//
// Threading: Start makes one thread that serves all connections; the setters may be called from any
// other. Ownership: removes its socket when destroyed.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "api/wire/frames.h"
#include "api/wire/pages.h"
#include "common/bare/unique_fd.h"

namespace rb::testing {

struct FakeDevice {
  std::string name;  // "rxe0"
  std::string node;  // "uverbs0"
  std::string file;  // what OPEN opens
  std::uint32_t major = 0;
  std::uint32_t minor = 0;
  std::uint32_t driver_id = 14;
};

class FakeAgent {
 public:
  explicit FakeAgent(std::string socket_path);
  ~FakeAgent();
  FakeAgent(const FakeAgent&) = delete;
  FakeAgent& operator=(const FakeAgent&) = delete;

  // Before Start.
  void AddDevice(FakeDevice device) { devices_.push_back(std::move(device)); }
  void Start();

  // Changes the policy page as the real agent does: odd generation, fields, even generation.
  template <typename Change>
  void Patch(Change change) {
    wire::PolicyPage page = policy_copy_;
    change(&page);
    WritePolicy(page);
  }

  // Answers from now on with ERROR (0: grants again).
  void RefuseHello(std::uint32_t errno_value) { hello_errno_ = errno_value; }
  void RefuseOpen(std::uint32_t errno_value) { open_errno_ = errno_value; }
  // Takes frames but never answers.
  void BeSilent(bool silent) { silent_ = silent; }
  // A new lease with new pages, as after the old one ended.
  void ReplacePages();

  wire::CountersPage& counters() { return *counters_; }
  std::uint32_t hellos() const { return hellos_; }
  std::uint32_t opens() const { return opens_; }

 private:
  void MakePages();
  void WritePolicy(const wire::PolicyPage& page);
  void Serve();
  bool Answer(int peer);
  void Grant(int peer, std::uint32_t sequence);
  void Open(int peer, const wire::OpenRequest& request);
  static void SendError(int peer, std::uint32_t sequence, std::uint32_t errno_value);

  std::string path_;
  std::vector<FakeDevice> devices_;
  UniqueFd listener_;
  UniqueFd wake_read_;
  UniqueFd wake_write_;
  std::thread thread_;

  std::mutex pages_;  // guards the three below against ReplacePages
  UniqueFd policy_;
  UniqueFd counters_fd_;
  wire::CountersPage* counters_ = nullptr;
  wire::PolicyPage policy_copy_{};

  std::uint32_t next_slot_ = 0;
  std::atomic<std::uint32_t> hello_errno_ = 0;
  std::atomic<std::uint32_t> open_errno_ = 0;
  std::atomic<bool> silent_ = false;
  std::atomic<std::uint32_t> hellos_ = 0;
  std::atomic<std::uint32_t> opens_ = 0;
};

}  // namespace rb::testing
