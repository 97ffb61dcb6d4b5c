#include "agent/lease/pages.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>

#include "tests/support/temp_tree.h"

namespace rb::agent {
namespace {

using test::TempTree;

constexpr uid_t kNobody = 65534;

// A process that holds every mapping of its maker and does nothing, until this object ends.
class Holder {
 public:
  Holder() : pid_(::fork()) {
    if (pid_ != 0) return;
    while (true) ::pause();
  }
  ~Holder() { Stop(); }
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;

  pid_t pid() const { return pid_; }
  void Stop() {
    if (stopped_) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    stopped_ = true;
  }

 private:
  pid_t pid_;
  bool stopped_ = false;
};

// The errno of opening /proc/self/fd/`fd` again as another user; 0: it could. REQUIRES: root.
int ReopenAsNobody(int fd, int flags) {
  const pid_t child = ::fork();
  if (child == 0) {
    // Without the last step /proc/self would be root's, and refuse for the wrong reason.
    if (::setgid(kNobody) != 0 || ::setuid(kNobody) != 0 || ::prctl(PR_SET_DUMPABLE, 1) != 0) {
      ::_exit(255);
    }
    const std::string path = "/proc/self/fd/" + std::to_string(fd);
    ::_exit(::open(path.c_str(), flags | O_CLOEXEC) >= 0 ? 0 : errno);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

mode_t ModeOf(int fd) {
  struct stat facts{};
  return ::fstat(fd, &facts) == 0 ? facts.st_mode & 0777U : 0;
}

class PolicyFileTest : public ::testing::Test {
 protected:
  PolicyFile OpenOrDie() {
    auto file = PolicyFile::Open(path_);
    RB_CHECK(file);
    return std::move(*file);
  }

  wire::PolicyPage Content() const {
    wire::PolicyPage page{};
    const std::string bytes = tree_.Read("policy");
    RB_CHECK(bytes.size() == sizeof(page));
    std::memcpy(&page, bytes.data(), sizeof(page));
    return page;
  }

  // What an agent leaves that died while it wrote.
  void LeaveWithGeneration(std::uint64_t generation, std::size_t bytes) {
    wire::PolicyPage page = Page(1);
    page.generation = generation;
    tree_.Write("policy", std::string(reinterpret_cast<const char*>(&page), bytes));
  }

  static wire::PolicyPage Page(std::uint32_t state) {
    wire::PolicyPage page{};
    page.magic = wire::kPolicyMagic;
    page.version = wire::kPageVersion;
    page.state = state;
    return page;
  }

  TempTree tree_;
  std::string path_ = tree_.Path("policy");
};

TEST_F(PolicyFileTest, EveryWriteEndsInTheNextEvenGeneration) {
  PolicyFile file = OpenOrDie();

  ASSERT_TRUE(file.Write(Page(1)));
  const wire::PolicyPage first = Content();
  ASSERT_TRUE(file.Write(Page(2)));
  const wire::PolicyPage second = Content();

  EXPECT_EQ(first.generation, 2U);
  EXPECT_EQ(first.state, 1U);
  EXPECT_EQ(second.generation, 4U);
  EXPECT_EQ(second.state, 2U);
}

TEST_F(PolicyFileTest, TheGenerationOfTheCallerIsIgnored) {
  PolicyFile file = OpenOrDie();
  wire::PolicyPage page = Page(1);
  page.generation = 77;

  ASSERT_TRUE(file.Write(page));

  EXPECT_EQ(Content().generation, 2U);
}

TEST_F(PolicyFileTest, WritesTheLastByteToo) {
  PolicyFile file = OpenOrDie();
  wire::PolicyPage page = Page(1);
  page.limits[0] = 5;
  page.devices.back().burst_bytes = 0x0102'0304'0506'0708;

  ASSERT_TRUE(file.Write(page));

  EXPECT_EQ(Content().limits[0], 5U);
  EXPECT_EQ(Content().devices.back().burst_bytes, 0x0102'0304'0506'0708U);
}

TEST_F(PolicyFileTest, IsRootsAlone) {
  OpenOrDie();

  struct stat facts{};
  ASSERT_EQ(::stat(path_.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777U, 0600U);
}

TEST_F(PolicyFileTest, GoesOnCountingAfterARestart) {
  ASSERT_TRUE(OpenOrDie().Write(Page(1)));

  ASSERT_TRUE(OpenOrDie().Write(Page(2)));

  EXPECT_EQ(Content().generation, 4U);
}

TEST_F(PolicyFileTest, CompletesAPageThatWasHalfWritten) {
  LeaveWithGeneration(5, sizeof(wire::PolicyPage));

  ASSERT_TRUE(OpenOrDie().Write(Page(2)));

  // Readers that waited at 5 must see a change, and an even number.
  EXPECT_EQ(Content().generation, 6U);
  EXPECT_EQ(Content().state, 2U);
}

TEST_F(PolicyFileTest, CompletesAFirstPageThatWasCutShort) {
  LeaveWithGeneration(1, 16);

  ASSERT_TRUE(OpenOrDie().Write(Page(2)));

  EXPECT_EQ(Content().generation, 2U);
  EXPECT_EQ(Content().state, 2U);
}

TEST_F(PolicyFileTest, SomethingElseInTheFileIsNoGeneration) {
  tree_.Write("policy", std::string(sizeof(wire::PolicyPage), 'x'));

  ASSERT_TRUE(OpenOrDie().Write(Page(1)));

  EXPECT_EQ(Content().generation, 2U);
}

TEST_F(PolicyFileTest, RefusesALinkAndAMissingDirectory) {
  tree_.Write("elsewhere", "precious");
  std::filesystem::create_symlink(tree_.Path("elsewhere"), path_);

  EXPECT_FALSE(PolicyFile::Open(path_));
  EXPECT_FALSE(PolicyFile::Open(tree_.Path("no/policy")));
  EXPECT_EQ(tree_.Read("elsewhere"), "precious");
}

TEST_F(PolicyFileTest, ATenantCannotWriteThroughItsDescriptor) {
  PolicyFile file = OpenOrDie();
  ASSERT_TRUE(file.Write(Page(1)));
  auto tenant = file.OpenForTenant();
  ASSERT_TRUE(tenant) << tenant.error().message;

  EXPECT_EQ(::pwrite(tenant->get(), "x", 1, 0), -1);
  EXPECT_EQ(::ftruncate(tenant->get(), 0), -1);
  EXPECT_EQ(::mmap(nullptr, sizeof(wire::PolicyPage), PROT_READ | PROT_WRITE, MAP_SHARED,
                   tenant->get(), 0),
            MAP_FAILED);
  EXPECT_EQ(::fcntl(tenant->get(), F_GETFD), FD_CLOEXEC);
}

TEST_F(PolicyFileTest, ATenantOfAnotherUserCannotReopenItForWriting) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to become another user";
  PolicyFile file = OpenOrDie();
  ASSERT_TRUE(file.Write(Page(1)));
  auto tenant = file.OpenForTenant();
  ASSERT_TRUE(tenant);

  const int refused = ReopenAsNobody(tenant->get(), O_RDWR);
  // The same with an open mode, to show that it is the mode that refuses.
  ASSERT_EQ(::chmod(path_.c_str(), 0666), 0);
  const int allowed = ReopenAsNobody(tenant->get(), O_RDWR);

  EXPECT_EQ(refused, EACCES);
  EXPECT_EQ(allowed, 0);
}

TEST_F(PolicyFileTest, ATenantsMappingSeesTheNextWrite) {
  PolicyFile file = OpenOrDie();
  ASSERT_TRUE(file.Write(Page(1)));
  auto tenant = file.OpenForTenant();
  ASSERT_TRUE(tenant);
  void* memory = ::mmap(nullptr, sizeof(wire::PolicyPage), PROT_READ, MAP_SHARED, tenant->get(), 0);
  ASSERT_NE(memory, MAP_FAILED);
  const auto* page = static_cast<const wire::PolicyPage*>(memory);

  ASSERT_TRUE(file.Write(Page(3)));

  EXPECT_EQ(wire::Load(page->state), 3U);
  EXPECT_EQ(wire::Load(page->generation), 4U);
  ::munmap(memory, sizeof(wire::PolicyPage));
}

TEST_F(PolicyFileTest, ARemovedFileIsNotHandedOut) {
  const PolicyFile file = OpenOrDie();

  file.Remove();

  auto tenant = file.OpenForTenant();
  ASSERT_FALSE(tenant);
  EXPECT_EQ(tenant.error().code, ErrorCode::kNotFound);
  EXPECT_FALSE(tree_.Exists("policy"));
}

class CountersMemoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto memory = CountersMemory::Create(name_);
    ASSERT_TRUE(memory) << memory.error().message;
    memory_.emplace(std::move(*memory));
  }

  // Reading another process's map_files needs root or CAP_CHECKPOINT_RESTORE, and a kernel that has
  // it.
  bool CanAdopt() const {
    const Holder holder;
    auto adopted = CountersMemory::Adopt(holder.pid(), name_);
    return adopted || adopted.error().code != ErrorCode::kDenied;
  }

  const std::string name_ = "rb-counters-lease-1";
  std::optional<CountersMemory> memory_;
};

TEST_F(CountersMemoryTest, StartsWithAHeaderAndZeros) {
  const wire::CountersPage& page = *memory_->page();

  EXPECT_EQ(page.magic, wire::kCountersMagic);
  EXPECT_EQ(page.version, wire::kPageVersion);
  EXPECT_EQ(page.slot_count, wire::kSlotsMax);
  EXPECT_EQ(page.used[0], 0U);
  EXPECT_EQ(page.slots.back().state, static_cast<std::uint32_t>(wire::SlotState::kFree));
}

TEST_F(CountersMemoryTest, CannotBeResizedUnsealedOrReopenedByOthers) {
  constexpr auto kBytes = static_cast<off_t>(sizeof(wire::CountersPage));

  EXPECT_EQ(::ftruncate(memory_->fd(), 0), -1);
  EXPECT_EQ(errno, EPERM);
  EXPECT_EQ(::ftruncate(memory_->fd(), kBytes + 1), -1);
  EXPECT_EQ(errno, EPERM);
  EXPECT_EQ(::fcntl(memory_->fd(), F_ADD_SEALS, F_SEAL_FUTURE_WRITE), -1);
  EXPECT_EQ(ModeOf(memory_->fd()), 0600U);
  EXPECT_EQ(::fcntl(memory_->fd(), F_GETFD), FD_CLOEXEC);
}

TEST_F(CountersMemoryTest, MovingKeepsTheMapping) {
  wire::CountersPage* page = memory_->page();

  const CountersMemory moved = std::move(*memory_);

  EXPECT_EQ(moved.page(), page);
  EXPECT_EQ(moved.page()->magic, wire::kCountersMagic);
}

class AdoptTest : public CountersMemoryTest {
 protected:
  void SetUp() override {
    CountersMemoryTest::SetUp();
    if (!CanAdopt()) GTEST_SKIP() << "this user may not read map_files of another process";
  }
  void TearDown() override {
    if (forged_ != MAP_FAILED) ::munmap(forged_, forged_bytes_);
  }

  // Maps a memfd that looks like a counters page, so that the next Holder has it.
  void MapForged(std::size_t bytes, int seals) {
    const UniqueFd fd(::memfd_create(name_.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING));
    ASSERT_TRUE(fd);
    ASSERT_EQ(::ftruncate(fd.get(), static_cast<off_t>(bytes)), 0);
    ASSERT_EQ(::fcntl(fd.get(), F_ADD_SEALS, seals), 0);
    forged_bytes_ = bytes;
    forged_ = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
    ASSERT_NE(forged_, MAP_FAILED);
    static_cast<wire::CountersPage*>(forged_)->magic = wire::kCountersMagic;
    static_cast<wire::CountersPage*>(forged_)->version = wire::kPageVersion;
  }

  static constexpr int kAllSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  void* forged_ = MAP_FAILED;
  std::size_t forged_bytes_ = 0;
};

TEST_F(AdoptTest, FindsThePageThatAProcessKeptAfterTheAgentLostIt) {
  memory_->page()->used[3] = 42;
  const Holder holder;
  memory_.reset();

  const auto adopted = CountersMemory::Adopt(holder.pid(), name_);

  ASSERT_TRUE(adopted) << adopted.error().message;
  EXPECT_EQ(adopted->page()->used[3], 42U);
}

TEST_F(AdoptTest, TheAdoptedPageIsTheSameMemory) {
  const Holder holder;
  auto adopted = CountersMemory::Adopt(holder.pid(), name_);
  ASSERT_TRUE(adopted) << adopted.error().message;

  wire::Store<std::uint64_t>(&memory_->page()->used[0], 9);

  EXPECT_EQ(wire::Load(adopted->page()->used[0]), 9U);
  EXPECT_EQ(::ftruncate(adopted->fd(), 0), -1);
}

TEST_F(AdoptTest, AProcessWithoutThePageHasNone) {
  memory_.reset();
  const Holder holder;

  const auto adopted = CountersMemory::Adopt(holder.pid(), name_);

  ASSERT_FALSE(adopted);
  EXPECT_EQ(adopted.error().code, ErrorCode::kNotFound);
}

TEST_F(AdoptTest, ThePageOfALeaseWithALongerNameIsAnothers) {
  const Holder holder;

  const auto adopted = CountersMemory::Adopt(holder.pid(), name_.substr(0, name_.size() - 1));

  ASSERT_FALSE(adopted);
  EXPECT_EQ(adopted.error().code, ErrorCode::kNotFound);
}

TEST_F(AdoptTest, AProcessThatIsGoneHasNone) {
  Holder holder;
  holder.Stop();

  const auto adopted = CountersMemory::Adopt(holder.pid(), name_);

  ASSERT_FALSE(adopted);
  EXPECT_EQ(adopted.error().code, ErrorCode::kNotFound);
}

TEST_F(AdoptTest, RefusesAForgedPageThatCanBeTruncated) {
  memory_.reset();
  MapForged(sizeof(wire::CountersPage), F_SEAL_GROW);
  const Holder holder;

  const auto adopted = CountersMemory::Adopt(holder.pid(), name_);

  ASSERT_FALSE(adopted);
  EXPECT_EQ(adopted.error().code, ErrorCode::kCorrupt);
}

TEST_F(AdoptTest, RefusesASealedPageThatIsTooShort) {
  memory_.reset();
  MapForged(4096, kAllSeals);
  const Holder holder;

  const auto adopted = CountersMemory::Adopt(holder.pid(), name_);

  ASSERT_FALSE(adopted);
  EXPECT_EQ(adopted.error().code, ErrorCode::kCorrupt);
}

TEST_F(AdoptTest, RefusesAPageOfAnotherVersion) {
  memory_->page()->version = wire::kPageVersion + 1;
  const Holder holder;

  const auto adopted = CountersMemory::Adopt(holder.pid(), name_);

  ASSERT_FALSE(adopted);
  EXPECT_EQ(adopted.error().code, ErrorCode::kCorrupt);
}

TEST_F(AdoptTest, AForgedPageDoesNotHideTheRealOne) {
  memory_->page()->used[0] = 5;
  MapForged(sizeof(wire::CountersPage), F_SEAL_GROW);
  const Holder holder;

  const auto adopted = CountersMemory::Adopt(holder.pid(), name_);

  ASSERT_TRUE(adopted) << adopted.error().message;
  EXPECT_EQ(adopted->page()->used[0], 5U);
}

}  // namespace
}  // namespace rb::agent
