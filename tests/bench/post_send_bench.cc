// What the shim adds to ibv_post_send of one work request: nothing, counting, or counting and
// pacing within the rate. The provider is a fake that does nothing, so the difference to Bare is
// all ours.
#include <benchmark/benchmark.h>
#include <infiniband/verbs.h>

#include <limits>
#include <memory>

#include "shim/data_path.h"
#include "shim/process.h"

namespace rb::shim {
namespace {

constexpr int kFd = 900;

int ProviderPostSend(ibv_qp* /*qp*/, ibv_send_wr* requests, ibv_send_wr** /*bad*/) {
  benchmark::DoNotOptimize(requests);
  return 0;
}

// One open context of a lease with the given policy.
class OpenContext {
 public:
  OpenContext(std::uint32_t flags, wire::DeviceRate rate) {
    policy_->state = static_cast<std::uint32_t>(wire::PolicyState::kActive);
    policy_->flags = flags;
    policy_->devices[0] = rate;
    page_->slots[0].holders = 1;
    lease_.policy = policy_.get();
    lease_.counters = page_.get();
    lease_.files = 1;
    Self().table.Insert(kFd, &lease_, 0, 0, 14);
    context_->context.cmd_fd = kFd;
    context_->context.ops.post_send = ProviderPostSend;
    qp_.context = &context_->context;
    entry_.length = 64;
    request_.opcode = IBV_WR_RDMA_WRITE;
    request_.sg_list = &entry_;
    request_.num_sge = 1;
    HookContext(context_.get());
  }
  ~OpenContext() {
    if (File* file = Self().table.Remove(kFd)) Self().table.Finish(file);
  }
  OpenContext(const OpenContext&) = delete;
  OpenContext& operator=(const OpenContext&) = delete;

  int Post() { return ibv_post_send(&qp_, &request_, &bad_); }

 private:
  std::unique_ptr<wire::PolicyPage> policy_ = std::make_unique<wire::PolicyPage>();
  std::unique_ptr<wire::CountersPage> page_ = std::make_unique<wire::CountersPage>();
  Lease lease_{};
  std::unique_ptr<verbs_context> context_ = std::make_unique<verbs_context>();
  ibv_qp qp_{};
  ibv_sge entry_{};
  ibv_send_wr request_{};
  ibv_send_wr* bad_ = nullptr;
};

void Run(benchmark::State& state, std::uint32_t flags, wire::DeviceRate rate) {
  OpenContext context(flags, rate);
  for (auto _ : state) benchmark::DoNotOptimize(context.Post());
}

// A rate that is never reached: the whole cost of asking, none of waiting.
constexpr wire::DeviceRate kFastRate{.rate_bytes_per_second = std::uint64_t{1} << 50,
                                     .burst_bytes = std::uint64_t{1} << 40};

void Bare(benchmark::State& state) { Run(state, 0, {}); }
void Counted(benchmark::State& state) { Run(state, wire::kPolicyAccounting, {}); }
void CountedAndPaced(benchmark::State& state) {
  Run(state, wire::kPolicyAccounting | wire::kPolicyPaced, kFastRate);
}

BENCHMARK(Bare);
BENCHMARK(Counted);
BENCHMARK(CountedAndPaced);

}  // namespace
}  // namespace rb::shim

BENCHMARK_MAIN();
