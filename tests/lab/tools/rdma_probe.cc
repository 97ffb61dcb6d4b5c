// Shows lab scenarios what agent/rdma sees and does on a real kernel, as text to compare.
//
//   rdma_probe inventory            devices, limits, ports and GIDs, one a line
//   rdma_probe resources DEVICE     kernel counts, and every row with the context it belongs to
//   rdma_probe watch SECONDS        prints changes as they are seen, until killed or SECONDS pass
//   rdma_probe restrict             device nodes that had to be taken from others
//   rdma_probe open DEVICE          opens the device as for a tenant
//   rdma_probe handles PID          what the uverbs files of a process hold, and their queue pairs
//   rdma_probe stop PID             its queue pairs to the error state
//   rdma_probe destroy PID          everything that its files hold
//   rdma_probe record               RDMA netlink's answers in hexadecimal, to make tests from
#include <poll.h>
#include <rdma/rdma_netlink.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/rdma/device_nodes.h"
#include "agent/rdma/device_opener.h"
#include "agent/rdma/events.h"
#include "agent/rdma/inventory_linux.h"
#include "agent/rdma/netlink_attributes.h"
#include "agent/rdma/nldev_decode.h"
#include "agent/rdma/resources_linux.h"
#include "agent/rdma/revoke_file.h"

namespace {

using rb::ErrorCode;
using rb::Fail;
using rb::Result;
using rb::UniqueFd;
namespace rdma = rb::agent::rdma;

std::string Text(std::string_view text) { return text.empty() ? "-" : std::string(text); }
template <typename T>
std::string Text(const std::optional<T>& number) {
  return number ? std::to_string(*number) : "-";
}
std::string Text(const rdma::Creator& creator) {
  return creator.is_kernel() ? "kernel:" + creator.kernel_user : Text(creator.pid);
}
template <typename T>
std::string Word(T value) {
  return std::string(Name(value));
}

void PrintLimits(const rdma::Device& device) {
  if (!device.limits) return;
  const rdma::DeviceLimits& l = *device.limits;
  const std::vector<std::pair<const char*, std::uint64_t>> rows{
      {"max_qp", l.max_qp},
      {"max_qp_wr", l.max_qp_wr},
      {"max_sge", l.max_sge},
      {"max_cq", l.max_cq},
      {"max_cqe", l.max_cqe},
      {"max_mr", l.max_mr},
      {"max_mr_size", l.max_mr_size_bytes},
      {"max_pd", l.max_pd},
      {"max_srq", l.max_srq},
      {"max_srq_wr", l.max_srq_wr},
      {"max_ah", l.max_ah},
      {"max_mw", l.max_mw},
      {"max_qp_rd_atom", l.max_qp_rd_atom},
      {"max_mcast_grp", l.max_mcast_grp},
      {"vendor_id", l.vendor_id},
      {"vendor_part_id", l.vendor_part_id},
      {"hw_ver", l.hw_ver},
  };
  for (const auto& [name, value] : rows) {
    std::printf("limit %s %s %llu\n", device.name.c_str(), name,
                static_cast<unsigned long long>(value));
  }
}

void PrintPort(const std::string& device, const rdma::Port& port) {
  const std::string name = device + "/" + std::to_string(port.number);
  std::printf(
      "port %s state=%s physical=%s link_layer=%s rate=%llu active_mtu=%u max_mtu=%u "
      "netdev=%s gid_table=%u\n",
      name.c_str(), Word(port.state).c_str(), Text(port.physical_state).c_str(),
      Word(port.link_layer).c_str(), static_cast<unsigned long long>(port.rate_bits_per_second),
      port.active_mtu_bytes, port.max_mtu_bytes, Text(port.netdev).c_str(), port.gid_table_length);
  for (const rdma::Gid& gid : port.gids) {
    std::printf("gid %s/%u %s netdev=%s type=%s\n", name.c_str(), gid.index, gid.gid.c_str(),
                Text(gid.netdev).c_str(), Text(gid.type).c_str());
  }
}

Result<void> ShowInventory() {
  rdma::LinuxNldev nldev;
  rdma::VerbsDeviceQuery query;
  rdma::LinuxInventoryReader reader(nldev, query, "/sys");
  RB_TRY(const rdma::Inventory inventory, reader.Read());
  std::printf("netns %s\n", Word(inventory.netns_mode).c_str());
  for (const rdma::Device& d : inventory.devices) {
    std::printf(
        "device %s index=%u uverbs=%s number=%u:%u driver=%s driver_id=%u protocol=%s "
        "node_type=%s node_guid=%s sys_image_guid=%s firmware=%s pci=%s numa=%s\n",
        d.name.c_str(), d.index, Text(d.uverbs).c_str(), d.major, d.minor, Text(d.driver).c_str(),
        d.driver_id, Text(d.protocol).c_str(), Word(d.node_type).c_str(), d.node_guid.c_str(),
        d.sys_image_guid.c_str(), Text(d.firmware).c_str(), Text(d.pci_address).c_str(),
        Text(d.numa_node).c_str());
    for (const std::string& name : d.capabilities) {
      std::printf("capability %s %s\n", d.name.c_str(), name.c_str());
    }
    PrintLimits(d);
    for (const rdma::Port& port : d.ports) PrintPort(d.name, port);
  }
  return {};
}

Result<void> ShowResources(const std::string& device) {
  rdma::LinuxNldev nldev;
  rdma::LinuxResources resources(nldev);
  RB_TRY(const auto summary, resources.Summary(device));
  for (const auto& [kind, count] : summary) {
    std::printf("count %s %llu\n", kind.c_str(), static_cast<unsigned long long>(count));
  }
  RB_TRY(const auto contexts, resources.Contexts(device));
  for (const auto& row : contexts) {
    std::printf("ctx %u creator=%s\n", row.ctxn, Text(row.creator).c_str());
  }
  std::map<std::uint32_t, std::optional<std::uint32_t>> context_of_pd;
  RB_TRY(const auto pds, resources.Pds(device));
  for (const auto& row : pds) {
    context_of_pd[row.pdn] = row.ctxn;
    std::printf("pd %u ctx=%s creator=%s\n", row.pdn, Text(row.ctxn).c_str(),
                Text(row.creator).c_str());
  }
  const auto context = [&](const std::optional<std::uint32_t>& pdn) {
    return pdn ? Text(context_of_pd[*pdn]) : "-";
  };
  RB_TRY(const auto qps, resources.Qps(device));
  for (const auto& row : qps) {
    std::printf("qp %u type=%s state=%s ctx=%s peer=%s creator=%s\n", row.lqpn,
                Word(row.type).c_str(), Word(row.state).c_str(), context(row.pdn).c_str(),
                Text(row.rqpn).c_str(), Text(row.creator).c_str());
  }
  RB_TRY(const auto cqs, resources.Cqs(device));
  for (const auto& row : cqs) {
    std::printf("cq %u entries=%u ctx=%s creator=%s\n", row.cqn, row.entries,
                Text(row.ctxn).c_str(), Text(row.creator).c_str());
  }
  RB_TRY(const auto mrs, resources.Mrs(device));
  for (const auto& row : mrs) {
    std::printf("mr %u bytes=%llu ctx=%s creator=%s\n", row.mrn,
                static_cast<unsigned long long>(row.bytes), context(row.pdn).c_str(),
                Text(row.creator).c_str());
  }
  const auto srqs = resources.Srqs(device);
  std::printf("srqs %s\n", srqs ? std::to_string(srqs->size()).c_str() : "unsupported");
  return {};
}

Result<void> Watch(const std::string& seconds) {
  const auto end =
      std::chrono::steady_clock::now() + std::chrono::seconds(std::atoi(seconds.c_str()));
  RB_TRY(const auto events, rdma::ListenForInventoryEvents());
  std::printf("watching\n");
  std::fflush(stdout);
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    if (left.count() <= 0) return {};
    pollfd watched{.fd = events->fd(), .events = POLLIN, .revents = 0};
    if (::poll(&watched, 1, static_cast<int>(left.count())) <= 0) continue;
    RB_TRY(const rdma::InventoryChange change, events->Drain());
    if (change.devices) std::printf("devices\n");
    if (change.ports) std::printf("ports\n");
    std::fflush(stdout);
  }
}

Result<void> RestrictNodes() {
  rdma::LinuxDeviceNodes nodes("/dev");
  RB_TRY(const auto changes, nodes.Restrict());
  for (const rdma::NodeChange& change : changes) {
    std::printf("node %s was=%o\n", change.name.c_str(), change.mode_before);
  }
  return {};
}

Result<void> OpenDevice(const std::string& device) {
  rdma::LinuxDeviceOpener opener("/sys", "/dev");
  RB_TRY(const UniqueFd fd, opener.Open(device));
  struct stat status{};
  if (::fstat(fd.get(), &status) != 0) return rb::FailErrno("stat", errno);
  std::printf("opened %u:%u\n", major(status.st_rdev), minor(status.st_rdev));
  return {};
}

struct HeldFile {
  UniqueFd fd;
  rdma::UverbsFile file;
  std::string device;
};

// The uverbs files of a process, taken the way the agent takes them.
Result<std::vector<HeldFile>> TakeFiles(const std::string& pid) {
  rdma::LinuxNldev nldev;
  rdma::VerbsDeviceQuery query;
  rdma::LinuxInventoryReader reader(nldev, query, "/sys");
  RB_TRY(const rdma::Inventory inventory, reader.Read());
  const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, std::atoi(pid.c_str()), 0)));
  if (!process) return rb::FailErrno("open process " + pid, errno);
  std::vector<HeldFile> files;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/" + pid + "/fd")) {
    struct stat status{};
    if (::stat(entry.path().c_str(), &status) != 0 || !S_ISCHR(status.st_mode)) continue;
    const rdma::Device* device = inventory.FindByNode(major(status.st_rdev), minor(status.st_rdev));
    if (device == nullptr) continue;
    const int number = std::atoi(entry.path().filename().c_str());
    UniqueFd fd(static_cast<int>(::syscall(SYS_pidfd_getfd, process.get(), number, 0)));
    if (!fd) return rb::FailErrno("take a descriptor of " + pid, errno);
    const rdma::UverbsFile file{.fd = fd.get(), .driver_id = device->driver_id};
    files.push_back({.fd = std::move(fd), .file = file, .device = device->name});
  }
  return files;
}

Result<void> ShowHandles(const std::string& pid) {
  rdma::LinuxUverbsControl control;
  RB_TRY(const std::vector<HeldFile> files, TakeFiles(pid));
  for (const HeldFile& held : files) {
    for (const rdma::ObjectKind& kind : rdma::DestroyOrder(held.file.driver_id)) {
      RB_TRY(const auto handles, control.ListHandles(held.file, kind));
      std::printf("%s %s %zu\n", held.device.c_str(), std::string(kind.name).c_str(),
                  handles.size());
      if (kind != rdma::kQp) continue;
      for (const std::uint32_t handle : handles) {
        RB_TRY(const rdma::QpInfo qp, control.QueryQp(held.file, handle));
        std::printf(
            "queue_pair %u state=%s peer=%u path=%d traffic_class=%u sl=%u sgid_index=%u "
            "port=%u\n",
            handle, Word(qp.state).c_str(), qp.dest_qpn, qp.has_path ? 1 : 0, qp.traffic_class,
            qp.service_level, qp.sgid_index, qp.port);
      }
    }
  }
  return {};
}

Result<void> Stop(const std::string& pid) {
  rdma::LinuxUverbsControl control;
  RB_TRY(const std::vector<HeldFile> files, TakeFiles(pid));
  for (const HeldFile& held : files) {
    RB_TRY(const rdma::StopOutcome outcome, rdma::StopQueuePairs(control, held.file));
    std::printf("stopped %zu refused %zu %s\n", outcome.stopped, outcome.refused,
                outcome.first_refusal.c_str());
  }
  return {};
}

Result<void> Destroy(const std::string& pid) {
  rdma::LinuxUverbsControl control;
  RB_TRY(const std::vector<HeldFile> files, TakeFiles(pid));
  for (const HeldFile& held : files) {
    RB_TRY(const rdma::DestroyOutcome outcome, rdma::DestroyObjects(control, held.file));
    std::printf("destroyed %zu clean %d %s\n", outcome.destroyed, outcome.clean() ? 1 : 0,
                outcome.first_refusal.c_str());
    for (const rdma::LeftObjects& left : outcome.left) {
      std::printf("left %s %zu\n", left.kind.c_str(), left.count);
    }
  }
  return {};
}

void PrintHex(const char* what, const rdma::NldevAnswer& answer) {
  for (const std::string& message : answer) {
    std::printf("%s ", what);
    for (const char byte : message) std::printf("%02x", static_cast<unsigned char>(byte));
    std::printf("\n");
  }
}

Result<void> Record() {
  rdma::LinuxNldev nldev;
  const rdma::NldevRequest list{.command = RDMA_NLDEV_CMD_GET, .dump = true, .attributes = {}};
  RB_TRY(const rdma::NldevAnswer devices, nldev.Ask(list));
  PrintHex("GET", devices);
  RB_TRY(const auto rows, rdma::DecodeDevices(devices));
  const std::vector<std::pair<const char*, std::uint16_t>> dumps{
      {"PORT_GET", RDMA_NLDEV_CMD_PORT_GET},       {"RES_CTX_GET", RDMA_NLDEV_CMD_RES_CTX_GET},
      {"RES_PD_GET", RDMA_NLDEV_CMD_RES_PD_GET},   {"RES_QP_GET", RDMA_NLDEV_CMD_RES_QP_GET},
      {"RES_CQ_GET", RDMA_NLDEV_CMD_RES_CQ_GET},   {"RES_MR_GET", RDMA_NLDEV_CMD_RES_MR_GET},
      {"RES_SRQ_GET", RDMA_NLDEV_CMD_RES_SRQ_GET}, {"RES_GET", RDMA_NLDEV_CMD_RES_GET},
      {"GET_CHARDEV", RDMA_NLDEV_CMD_GET_CHARDEV},
  };
  for (const rdma::DeviceRow& row : rows) {
    for (const auto& [name, command] : dumps) {
      rdma::NldevRequest request{.command = command, .dump = true, .attributes = {}};
      request.dump = command != RDMA_NLDEV_CMD_RES_GET && command != RDMA_NLDEV_CMD_GET_CHARDEV;
      rdma::PutNumber32(request.attributes, RDMA_NLDEV_ATTR_DEV_INDEX, row.index);
      if (command == RDMA_NLDEV_CMD_GET_CHARDEV) {
        rdma::PutText(request.attributes, RDMA_NLDEV_ATTR_CHARDEV_TYPE, "uverbs");
      }
      RB_TRY(const rdma::NldevAnswer answer, nldev.Ask(request));
      PrintHex(name, answer);
    }
  }
  return {};
}

Result<void> Run(const std::string& verb, const std::string& argument) {
  if (verb == "inventory") return ShowInventory();
  if (verb == "restrict") return RestrictNodes();
  if (verb == "record") return Record();
  if (argument.empty()) return Fail(ErrorCode::kInvalid, "see the comment in rdma_probe.cc");
  if (verb == "resources") return ShowResources(argument);
  if (verb == "watch") return Watch(argument);
  if (verb == "open") return OpenDevice(argument);
  if (verb == "handles") return ShowHandles(argument);
  if (verb == "stop") return Stop(argument);
  if (verb == "destroy") return Destroy(argument);
  return Fail(ErrorCode::kInvalid, "no such verb: " + verb);
}

}  // namespace

int main(int argc, char** argv) {
  const auto done = Run(argc > 1 ? argv[1] : "", argc > 2 ? argv[2] : "");
  if (done) return EXIT_SUCCESS;
  std::fprintf(stderr, "rdma_probe: %s (%s)\n", done.error().message.c_str(),
               std::string(rb::Name(done.error().code)).c_str());
  return EXIT_FAILURE;
}
