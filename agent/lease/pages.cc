#include "agent/lease/pages.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <system_error>
#include <utility>

namespace rb::agent {
namespace {

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
constexpr std::size_t kCountersBytes = sizeof(wire::CountersPage);

Result<void> WriteAt(int fd, const void* data, std::size_t bytes, off_t offset) {
  const ssize_t written = ::pwrite(fd, data, bytes, offset);
  if (written < 0) return FailErrno("write policy page", errno);
  if (static_cast<std::size_t>(written) != bytes) {
    return Fail(ErrorCode::kInternal, "write policy page: short write");
  }
  return {};
}

std::string LinkTarget(const std::string& path) {
  std::error_code failed;
  return std::filesystem::read_symlink(path, failed).string();
}

}  // namespace

Result<PolicyFile> PolicyFile::Open(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return FailErrno("open " + path, errno);
  wire::PolicyPage page{};
  const ssize_t got = ::pread(fd.get(), &page, sizeof(page), 0);
  const bool whole = got == static_cast<ssize_t>(sizeof(page)) && page.magic == wire::kPolicyMagic;
  // An odd generation is a write that a dead agent did not finish: the next one completes it.
  const std::uint64_t generation = whole ? page.generation & ~std::uint64_t{1} : 0;
  return PolicyFile(path, std::move(fd), generation);
}

Result<void> PolicyFile::Write(wire::PolicyPage page) {
  constexpr std::size_t kGenerationAt = offsetof(wire::PolicyPage, generation);
  constexpr std::size_t kBodyAt = kGenerationAt + sizeof(page.generation);
  const std::uint64_t busy = generation_ + 1;
  const std::uint64_t done = generation_ + 2;
  page.generation = busy;
  RB_TRY_VOID(WriteAt(fd_.get(), &page, kBodyAt, 0));
  RB_TRY_VOID(WriteAt(fd_.get(), reinterpret_cast<const char*>(&page) + kBodyAt,
                      sizeof(page) - kBodyAt, static_cast<off_t>(kBodyAt)));
  RB_TRY_VOID(WriteAt(fd_.get(), &done, sizeof(done), static_cast<off_t>(kGenerationAt)));
  generation_ = done;
  return {};
}

Result<UniqueFd> PolicyFile::OpenForTenant() const {
  UniqueFd fd(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd) return FailErrno("open " + path_, errno);
  return fd;
}

void PolicyFile::Remove() const { ::unlink(path_.c_str()); }

Result<CountersMemory> CountersMemory::Create(const std::string& name) {
  UniqueFd fd(::memfd_create(name.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd) return FailErrno("memfd_create " + name, errno);
  if (::fchmod(fd.get(), 0600) != 0) return FailErrno("fchmod " + name, errno);
  if (::ftruncate(fd.get(), static_cast<off_t>(kCountersBytes)) != 0) {
    return FailErrno("ftruncate " + name, errno);
  }
  if (::fcntl(fd.get(), F_ADD_SEALS, kSeals) != 0) return FailErrno("seal " + name, errno);
  RB_TRY(CountersMemory memory, Map(std::move(fd)));
  memory.page()->magic = wire::kCountersMagic;
  memory.page()->version = wire::kPageVersion;
  memory.page()->slot_count = wire::kSlotsMax;
  return memory;
}

Result<CountersMemory> CountersMemory::Adopt(pid_t pid, const std::string& name) {
  const std::string directory = "/proc/" + std::to_string(pid) + "/map_files";
  const std::string wanted = "/memfd:" + name + " (deleted)";
  Error why{.code = ErrorCode::kNotFound,
            .message = "counters page: pid " + std::to_string(pid) + " maps none"};
  std::error_code failed;
  std::filesystem::directory_iterator entry(directory, failed);
  // ENOENT is a process that has exited: it maps nothing.
  if (failed && failed != std::errc::no_such_file_or_directory) {
    return FailErrno("list " + directory, failed.value());
  }
  for (; entry != std::filesystem::directory_iterator(); entry.increment(failed)) {
    const std::string link = entry->path().string();
    if (LinkTarget(link) != wanted) continue;
    auto memory = AdoptMapping(link, pid);
    if (memory) return memory;
    // A forged page beside the real one must not hide it: look on.
    why = std::move(memory.error());
  }
  return tl::unexpected(std::move(why));
}

Result<CountersMemory> CountersMemory::AdoptMapping(const std::string& link, pid_t pid) {
  UniqueFd fd(::open(link.c_str(), O_RDWR | O_CLOEXEC));
  if (!fd) return FailErrno("open " + link, errno);
  // The name is the tenant's to imitate; the seals and the size are what keeps us safe from SIGBUS.
  struct stat facts{};
  const int seals = ::fcntl(fd.get(), F_GET_SEALS);
  if (seals < 0 || (seals & kSeals) != kSeals || ::fstat(fd.get(), &facts) != 0 ||
      facts.st_size != static_cast<off_t>(kCountersBytes) || facts.st_uid != ::geteuid()) {
    return Fail(ErrorCode::kCorrupt, "counters page of pid " + std::to_string(pid) + ": not ours");
  }
  RB_TRY(CountersMemory memory, Map(std::move(fd)));
  if (memory.page()->magic != wire::kCountersMagic ||
      memory.page()->version != wire::kPageVersion) {
    return Fail(ErrorCode::kCorrupt,
                "counters page of pid " + std::to_string(pid) + ": another version or overwritten");
  }
  return memory;
}

Result<CountersMemory> CountersMemory::Map(UniqueFd fd) {
  void* memory = ::mmap(nullptr, kCountersBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (memory == MAP_FAILED) return FailErrno("mmap counters page", errno);
  return CountersMemory(std::move(fd), static_cast<wire::CountersPage*>(memory));
}

CountersMemory::~CountersMemory() {
  if (page_ != nullptr) ::munmap(page_, kCountersBytes);
}

}  // namespace rb::agent
