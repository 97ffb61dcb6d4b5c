// A verbs application as the big communication libraries are written: not linked with libibverbs,
// it dlopens it with RTLD_LOCAL, asks dlvsym for every function, and posts through the context's
// own pointers. So nothing of it can be reached by replacing ibv_* symbols.
//
//   dlvsym_app list                  names of the devices, one a line
//   dlvsym_app qps DEVICE N          creates up to N queue pairs: "created K errno E"
//   dlvsym_app send DEVICE MIB       sends to itself over RC: "sent_bytes B seconds S mib_per_s R"
//   dlvsym_app owner DEVICE          which library holds each data-path function: "post_send FILE"
//   dlvsym_app open PATH             open(2): "errno E"
#include <dlfcn.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace {

constexpr std::size_t kMessageBytes = 64 << 10;
constexpr std::uint32_t kDepth = 16;
constexpr std::uint8_t kPort = 1;

[[noreturn]] void Die(const char* what) {
  std::fprintf(stderr, "dlvsym_app: %s: errno %d\n", what, errno);
  ::_exit(EXIT_FAILURE);  // standard error has no buffer, and nothing else was written
}

// The functions used, each found by its versioned name.
class Verbs {
 public:
  Verbs() : library_(::dlopen("libibverbs.so.1", RTLD_NOW | RTLD_LOCAL)) {
    if (library_ == nullptr) Die("dlopen libibverbs.so.1");
    Find(&get_device_list, "ibv_get_device_list");
    Find(&get_device_name, "ibv_get_device_name");
    Find(&open_device, "ibv_open_device");
    Find(&query_port, "ibv_query_port");
    Find(&query_gid, "ibv_query_gid");
    Find(&alloc_pd, "ibv_alloc_pd");
    Find(&reg_mr, "ibv_reg_mr");
    Find(&create_cq, "ibv_create_cq");
    Find(&create_qp, "ibv_create_qp");
    Find(&modify_qp, "ibv_modify_qp");
    Find(&destroy_qp, "ibv_destroy_qp");
    Find(&destroy_cq, "ibv_destroy_cq");
    Find(&dereg_mr, "ibv_dereg_mr");
    Find(&dealloc_pd, "ibv_dealloc_pd");
    Find(&close_device, "ibv_close_device");
  }

  ibv_device** (*get_device_list)(int*) = nullptr;
  const char* (*get_device_name)(ibv_device*) = nullptr;
  ibv_context* (*open_device)(ibv_device*) = nullptr;
  int (*query_port)(ibv_context*, std::uint8_t, ibv_port_attr*) = nullptr;
  int (*query_gid)(ibv_context*, std::uint8_t, int, ibv_gid*) = nullptr;
  ibv_pd* (*alloc_pd)(ibv_context*) = nullptr;
  ibv_mr* (*reg_mr)(ibv_pd*, void*, std::size_t, int) = nullptr;
  ibv_cq* (*create_cq)(ibv_context*, int, void*, ibv_comp_channel*, int) = nullptr;
  ibv_qp* (*create_qp)(ibv_pd*, ibv_qp_init_attr*) = nullptr;
  int (*modify_qp)(ibv_qp*, ibv_qp_attr*, int) = nullptr;
  int (*destroy_qp)(ibv_qp*) = nullptr;
  int (*destroy_cq)(ibv_cq*) = nullptr;
  int (*dereg_mr)(ibv_mr*) = nullptr;
  int (*dealloc_pd)(ibv_pd*) = nullptr;
  int (*close_device)(ibv_context*) = nullptr;

 private:
  template <typename F>
  void Find(F* function, const char* name) {
    *function = reinterpret_cast<F>(::dlvsym(library_, name, "IBVERBS_1.1"));
    if (*function == nullptr) Die(name);
  }

  void* library_;
};

ibv_context* Open(const Verbs& verbs, std::string_view name) {
  ibv_device** list = verbs.get_device_list(nullptr);
  for (ibv_device** device = list; device != nullptr && *device != nullptr; ++device) {
    if (verbs.get_device_name(*device) != name) continue;
    ibv_context* context = verbs.open_device(*device);
    if (context == nullptr) Die("open_device");
    return context;
  }
  errno = ENODEV;
  Die("no such device in the list");
}

int List(const Verbs& verbs) {
  ibv_device** list = verbs.get_device_list(nullptr);
  for (ibv_device** device = list; device != nullptr && *device != nullptr; ++device) {
    std::puts(verbs.get_device_name(*device));
  }
  return EXIT_SUCCESS;
}

// What a queue pair needs, and the pair itself.
class Endpoint {
 public:
  Endpoint(const Verbs& verbs, std::string_view device)
      : verbs_(verbs), context_(Open(verbs, device)), memory_(kMessageBytes * 2) {
    pd_ = verbs_.alloc_pd(context_);
    if (pd_ == nullptr) Die("alloc_pd");
    region_ = verbs_.reg_mr(pd_, memory_.data(), memory_.size(), IBV_ACCESS_LOCAL_WRITE);
    if (region_ == nullptr) Die("reg_mr");
    queue_ = verbs_.create_cq(context_, kDepth * 4, nullptr, nullptr, 0);
    if (queue_ == nullptr) Die("create_cq");
  }
  ~Endpoint() {
    for (ibv_qp* pair : pairs_) verbs_.destroy_qp(pair);
    verbs_.destroy_cq(queue_);
    verbs_.dereg_mr(region_);
    verbs_.dealloc_pd(pd_);
    verbs_.close_device(context_);
  }
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  ibv_qp* AddPair() {
    ibv_qp_init_attr wanted{};
    wanted.send_cq = wanted.recv_cq = queue_;
    wanted.cap = {.max_send_wr = kDepth,
                  .max_recv_wr = kDepth * 2,
                  .max_send_sge = 1,
                  .max_recv_sge = 1,
                  .max_inline_data = 0};
    wanted.qp_type = IBV_QPT_RC;
    wanted.sq_sig_all = 1;
    ibv_qp* pair = verbs_.create_qp(pd_, &wanted);
    if (pair != nullptr) pairs_.push_back(pair);
    return pair;
  }

  // Both pairs of a connection are on this device, at its first IPv4 address.
  void Connect(ibv_qp* pair, std::uint32_t peer) {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_INIT;
    attributes.port_num = kPort;
    Modify(pair, attributes, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
    attributes.qp_state = IBV_QPS_RTR;
    attributes.path_mtu = ActiveMtu();
    attributes.dest_qp_num = peer;
    attributes.min_rnr_timer = 12;
    const int index = GidIndex(&attributes.ah_attr.grh.dgid);
    attributes.ah_attr.is_global = 1;
    attributes.ah_attr.grh.sgid_index = static_cast<std::uint8_t>(index);
    attributes.ah_attr.grh.hop_limit = 1;
    attributes.ah_attr.port_num = kPort;
    Modify(pair, attributes,
           IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
               IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
    attributes.qp_state = IBV_QPS_RTS;
    attributes.timeout = 20;
    attributes.retry_cnt = 7;
    attributes.rnr_retry = 7;
    Modify(pair, attributes,
           IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
               IBV_QP_MAX_QP_RD_ATOMIC);
  }

  void PostReceive(ibv_qp* pair) {
    ibv_sge part{.addr = Address(kMessageBytes), .length = kMessageBytes, .lkey = region_->lkey};
    ibv_recv_wr request{};
    request.sg_list = &part;
    request.num_sge = 1;
    ibv_recv_wr* bad = nullptr;
    errno = pair->context->ops.post_recv(pair, &request, &bad);
    if (errno != 0) Die("post_recv");
  }

  void PostSend(ibv_qp* pair) {
    ibv_sge part{.addr = Address(0), .length = kMessageBytes, .lkey = region_->lkey};
    ibv_send_wr request{};
    request.sg_list = &part;
    request.num_sge = 1;
    request.opcode = IBV_WR_SEND;
    ibv_send_wr* bad = nullptr;
    errno = pair->context->ops.post_send(pair, &request, &bad);
    if (errno != 0) Die("post_send");
  }

  // Waits for one completion.
  ibv_wc Wait() {
    ibv_wc completion{};
    int count = 0;
    while ((count = context_->ops.poll_cq(queue_, 1, &completion)) == 0) {
    }
    if (count < 0) Die("poll_cq");
    if (completion.status != IBV_WC_SUCCESS) {
      std::fprintf(stderr, "dlvsym_app: completion with status %d\n", completion.status);
      ::_exit(EXIT_FAILURE);
    }
    return completion;
  }

  ibv_context* context() const { return context_; }

 private:
  std::uint64_t Address(std::size_t offset) const {
    return reinterpret_cast<std::uintptr_t>(memory_.data() + offset);
  }

  void Modify(ibv_qp* pair, ibv_qp_attr attributes, int mask) const {
    errno = verbs_.modify_qp(pair, &attributes, mask);
    if (errno != 0) Die("modify_qp");
  }

  ibv_port_attr Port() const {
    ibv_port_attr port{};
    errno = verbs_.query_port(context_, kPort, &port);
    if (errno != 0) Die("query_port");
    return port;
  }

  ibv_mtu ActiveMtu() const { return Port().active_mtu; }

  int GidIndex(ibv_gid* gid) const {
    constexpr std::array<std::uint8_t, 12> kIpv4{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    const int count = Port().gid_tbl_len;
    for (int i = 0; i < count; ++i) {
      if (verbs_.query_gid(context_, kPort, i, gid) != 0) continue;
      if (std::memcmp(gid->raw, kIpv4.data(), kIpv4.size()) == 0) return i;
    }
    errno = EADDRNOTAVAIL;
    Die("no IPv4 GID");
  }

  const Verbs& verbs_;
  ibv_context* context_;
  std::vector<char> memory_;  // one message to send, one place for what is received
  ibv_pd* pd_ = nullptr;
  ibv_mr* region_ = nullptr;
  ibv_cq* queue_ = nullptr;
  std::vector<ibv_qp*> pairs_;
};

int CreatePairs(const Verbs& verbs, std::string_view device, unsigned count) {
  Endpoint endpoint(verbs, device);
  unsigned created = 0;
  errno = 0;
  while (created < count && endpoint.AddPair() != nullptr) ++created;
  std::printf("created %u errno %d\n", created, created == count ? 0 : errno);
  return EXIT_SUCCESS;
}

int Send(const Verbs& verbs, std::string_view device, unsigned mib) {
  Endpoint endpoint(verbs, device);
  ibv_qp* sender = endpoint.AddPair();
  ibv_qp* receiver = endpoint.AddPair();
  if (sender == nullptr || receiver == nullptr) Die("create_qp");
  endpoint.Connect(receiver, sender->qp_num);
  endpoint.Connect(sender, receiver->qp_num);
  const std::uint64_t messages = (std::uint64_t{mib} << 20) / kMessageBytes;
  std::uint64_t posted = 0;
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  const auto start = std::chrono::steady_clock::now();
  while (sent < messages || received < messages) {
    while (posted < messages && posted - std::min(sent, received) < kDepth) {
      endpoint.PostReceive(receiver);
      endpoint.PostSend(sender);
      ++posted;
    }
    const ibv_wc done = endpoint.Wait();
    ++((done.opcode & IBV_WC_RECV) != 0 ? received : sent);
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  std::printf("sent_bytes %" PRIu64 " seconds %.3f mib_per_s %.3f\n", sent * kMessageBytes,
              took.count(), static_cast<double>(mib) / took.count());
  return EXIT_SUCCESS;
}

void PrintOwner(const char* name, void* function) {
  Dl_info info{};
  const bool found = ::dladdr(function, &info) != 0;
  std::printf("%s %s\n", name,
              found ? std::filesystem::path(info.dli_fname).filename().c_str() : "unknown");
}

int Owner(const Verbs& verbs, std::string_view device) {
  const Endpoint endpoint(verbs, device);
  const ibv_context_ops& ops = endpoint.context()->ops;
  PrintOwner("post_send", reinterpret_cast<void*>(ops.post_send));
  PrintOwner("post_recv", reinterpret_cast<void*>(ops.post_recv));
  PrintOwner("poll_cq", reinterpret_cast<void*>(ops.poll_cq));
  return EXIT_SUCCESS;
}

int OpenPath(const char* path) {
  const int fd = ::open(path, O_RDWR | O_CLOEXEC);
  std::printf("errno %d\n", fd < 0 ? errno : 0);
  return EXIT_SUCCESS;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const std::string command = words.empty() ? "" : words[0];
  if (command == "open" && words.size() == 2) return OpenPath(argv[2]);
  const Verbs verbs;
  if (command == "list" && words.size() == 1) return List(verbs);
  if (command == "owner" && words.size() == 2) return Owner(verbs, words[1]);
  if (words.size() == 3) {
    const auto number = static_cast<unsigned>(std::strtoul(argv[3], nullptr, 10));
    if (command == "qps") return CreatePairs(verbs, words[1], number);
    if (command == "send") return Send(verbs, words[1], number);
  }
  std::fprintf(
      stderr,
      "usage: dlvsym_app list | qps DEVICE N | send DEVICE MIB | owner DEVICE | open PATH\n");
  return EXIT_FAILURE;
}
