// Programs that have nothing to do with RDMA, and three C libraries, under the shim: they must not
// notice it. There is no agent.

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace rb::testing {
namespace {

namespace fs = std::filesystem;

constexpr const char* kShim = RB_SHIM_PATH;

struct Outcome {
  int status = -1;
  std::string output;
  std::string errors;
};

class ProgramsTest : public ::testing::Test {
 protected:
  ProgramsTest() {
    std::string pattern = fs::temp_directory_path() / "rb-programs-XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
    std::ofstream(folder_ / "in") << "some text\n";
  }
  ~ProgramsTest() override { fs::remove_all(folder_); }

  // Runs a shell command line with `environment` before it.
  Outcome Run(const std::string& environment, const std::string& command) const {
    const std::string line = "cd " + folder_.string() + " && env RDMA_AGENT_SOCKET=none " +
                             environment + " " + command + " >out 2>err";
    const int raw = std::system(line.c_str());
    return {.status = WIFEXITED(raw) ? WEXITSTATUS(raw) : -1,
            .output = Read("out"),
            .errors = Read("err")};
  }

  Outcome RunPreloaded(const std::string& command) const {
    return Run(std::string("LD_PRELOAD=") + kShim, command);
  }

  std::string Read(const char* name) const {
    std::ifstream file(folder_ / name);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  fs::path folder_;
};

TEST_F(ProgramsTest, CatDoesNotNotice) {
  const Outcome cat = RunPreloaded("cat in");

  EXPECT_EQ(cat.status, 0);
  EXPECT_EQ(cat.output, "some text\n");
  EXPECT_EQ(cat.errors, "");
}

TEST_F(ProgramsTest, ADeviceNodeThatIsNotLeasedDoesNotExist) {
  const Outcome cat = RunPreloaded("cat /dev/infiniband/uverbs0");

  EXPECT_NE(cat.status, 0);
  EXPECT_NE(cat.errors.find("No such file"), std::string::npos) << cat.errors;
}

TEST_F(ProgramsTest, ShellPipelinesAndSubprocessesWork) {
  const Outcome shell = RunPreloaded("sh -c 'cat in | tr a-z A-Z; ls in'");

  EXPECT_EQ(shell.status, 0);
  EXPECT_EQ(shell.output, "SOME TEXT\nin\n");
  EXPECT_EQ(shell.errors, "");
}

TEST_F(ProgramsTest, TheDeviceListIsAsWithoutDevices) {
  const Outcome bare = Run("", "ibv_devices");
  if (bare.status == 127) GTEST_SKIP() << "no ibv_devices here";

  const Outcome under = RunPreloaded("ibv_devices");

  if (bare.output.find("node GUID") == std::string::npos) {
    EXPECT_EQ(under.status, bare.status);
  }
  EXPECT_EQ(under.output.find("uverbs"), std::string::npos);
  EXPECT_EQ(under.output.find("rdma-shim"), std::string::npos);
}

TEST_F(ProgramsTest, TheLogGoesWhereItIsSent) {
  const Outcome cat = Run(std::string("RDMA_SHIM_LOG=error:log LD_PRELOAD=") + kShim,
                          "cat /dev/infiniband/uverbs0 in");

  EXPECT_EQ(cat.output, "some text\n");
  EXPECT_NE(Read("log").find("no answer to hello"), std::string::npos) << Read("log");
  EXPECT_EQ(cat.errors.find("rdma-shim"), std::string::npos);
}

TEST_F(ProgramsTest, AMuslProgramRuns) {
  if (!fs::exists(RB_MUSL_PROGRAM)) GTEST_SKIP() << "no musl-gcc here";

  const Outcome program = RunPreloaded(RB_MUSL_PROGRAM " in");

  EXPECT_EQ(program.status, 0) << program.errors;
  EXPECT_EQ(program.output, "some text\n");
  EXPECT_EQ(program.errors, "");
}

// LAB_CACHE/glibc231 is Debian 11's C library and its cat, fetched by tests/lab/extras.
TEST_F(ProgramsTest, CatRunsUnderGlibc231) {
  const char* cache = std::getenv("LAB_CACHE");
  const fs::path root = fs::path(cache != nullptr ? cache : RB_LAB_CACHE) / "glibc231";
  const fs::path libraries = root / "lib/x86_64-linux-gnu";
  if (!fs::exists(libraries / "ld-2.31.so")) GTEST_SKIP() << "run tests/lab/extras glibc231";

  const Outcome cat =
      Run("", (libraries / "ld-2.31.so").string() + " --library-path " + libraries.string() +
                  " --preload " + kShim + " " + (root / "bin/cat").string() + " in");

  EXPECT_EQ(cat.status, 0) << cat.errors;
  EXPECT_EQ(cat.output, "some text\n");
  EXPECT_EQ(cat.errors, "");
}

}  // namespace
}  // namespace rb::testing
