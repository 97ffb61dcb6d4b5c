// Leaves a verbs context whose creator is dead: makes a PD on DEVICE, forks, prints the child's pid
// and exits. The child sleeps and holds the file until it is killed.
//
//   rdma_orphan DEVICE
#include <infiniband/verbs.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace {

ibv_context* Open(std::string_view name) {
  ibv_device** list = ibv_get_device_list(nullptr);
  for (ibv_device** device = list; device != nullptr && *device != nullptr; ++device) {
    if (ibv_get_device_name(*device) == name) return ibv_open_device(*device);
  }
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  ibv_context* context = argc == 2 ? Open(argv[1]) : nullptr;
  if (context == nullptr || ibv_alloc_pd(context) == nullptr) {
    std::perror("rdma_orphan");
    return EXIT_FAILURE;
  }
  const pid_t child = ::fork();
  if (child < 0) return EXIT_FAILURE;
  if (child == 0) {
    // Not the scenario's output: whoever reads that would wait for us.
    ::close_range(0, 2, 0);
    while (true) ::pause();
  }
  std::printf("%d\n", child);
  return EXIT_SUCCESS;
}
