#include "common/base/files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "tests/support/temp_tree.h"

namespace rb {
namespace {

using test::TempTree;

TEST(ReadSmallFileTest, ReturnsTheWholeContent) {
  const std::string content(10'000, 'x');  // more than one read
  const TempTree tree{{"file", content}};

  EXPECT_EQ(ReadSmallFile(tree.Path("file")), content);
}

TEST(ReadSmallFileTest, ReadsFilesWithoutASizeFromProc) {
  const auto content = ReadSmallFile("/proc/self/stat");

  ASSERT_TRUE(content);
  EXPECT_EQ(content->rfind(std::to_string(::getpid()), 0), 0U);
}

TEST(ReadSmallFileTest, AMissingFileIsNotFoundAndNamed) {
  const TempTree tree;

  const auto content = ReadSmallFile(tree.Path("gone"));

  ASSERT_FALSE(content);
  EXPECT_EQ(content.error().code, ErrorCode::kNotFound);
  EXPECT_NE(content.error().message.find("gone"), std::string::npos);
}

TEST(ReadSmallFileTest, ADirectoryIsAnError) {
  const TempTree tree;

  EXPECT_FALSE(ReadSmallFile(tree.root()));
}

TEST(ReadSmallFileTest, AcceptsTheLargestFileAndRefusesOneByteMore) {
  TempTree tree{{"largest", ""}, {"larger", ""}};
  ASSERT_EQ(::truncate(tree.Path("largest").c_str(), kSmallFileBytesMax), 0);
  ASSERT_EQ(::truncate(tree.Path("larger").c_str(), kSmallFileBytesMax + 1), 0);

  EXPECT_TRUE(ReadSmallFile(tree.Path("largest")));

  const auto refused = ReadSmallFile(tree.Path("larger"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kExhausted);
}

TEST(ReadSmallFileAtTest, FollowsTheDirectoryNotItsPath) {
  TempTree tree{{"pod/limit", "old"}};
  const auto directory = OpenDirectory(tree.Path("pod"));
  ASSERT_TRUE(directory);
  // The path is recycled, as when a cgroup is removed and made again.
  ASSERT_EQ(::rename(tree.Path("pod").c_str(), tree.Path("moved").c_str()), 0);
  tree.Write("pod/limit", "new");

  EXPECT_EQ(ReadSmallFileAt(directory->get(), "limit"), "old");
}

TEST(OpenDirectoryTest, RefusesAFile) {
  const TempTree tree{{"file", ""}};

  EXPECT_FALSE(OpenDirectory(tree.Path("file")));
}

TEST(WriteKernelFileTest, WritesAnExistingFile) {
  const TempTree tree{{"rdma.max", ""}};

  ASSERT_TRUE(WriteKernelFile(tree.Path("rdma.max"), "mlx5_0 hca_handle=2\n"));

  EXPECT_EQ(tree.Read("rdma.max"), "mlx5_0 hca_handle=2\n");
}

TEST(WriteKernelFileTest, NeverCreatesAFile) {
  const TempTree tree;

  const auto written = WriteKernelFile(tree.Path("rdma.max"), "x");

  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::kNotFound);
  EXPECT_FALSE(tree.Exists("rdma.max"));
}

TEST(WriteKernelFileTest, ReportsARefusedWrite) {
  const auto written = WriteKernelFile("/dev/full", "x");

  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::kExhausted);
}

TEST(ReplaceFileTest, ReplacesTheContentAndLeavesNothingBeside) {
  const TempTree tree{{"state", "a much longer old content"}};

  ASSERT_TRUE(ReplaceFile(tree.Path("state"), "new"));

  EXPECT_EQ(tree.Read("state"), "new");
  EXPECT_FALSE(tree.Exists("state.new"));
}

TEST(ReplaceFileTest, MakesAPrivateFile) {
  const TempTree tree;
  struct stat status{};

  ASSERT_TRUE(ReplaceFile(tree.Path("state"), "secret"));

  ASSERT_EQ(::stat(tree.Path("state").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600U);
}

TEST(ReplaceFileTest, AnOpenReaderKeepsTheOldContent) {
  const TempTree tree{{"state", "old"}};
  const UniqueFd reader(::open(tree.Path("state").c_str(), O_RDONLY | O_CLOEXEC));
  std::string seen(3, '\0');

  ASSERT_TRUE(ReplaceFile(tree.Path("state"), "new"));

  ASSERT_EQ(::read(reader.get(), seen.data(), seen.size()), 3);
  EXPECT_EQ(seen, "old");
}

TEST(ReplaceFileTest, OverwritesTheTemporaryOfACrash) {
  const TempTree tree{{"state", "old"}, {"state.new", "half of some"}};

  ASSERT_TRUE(ReplaceFile(tree.Path("state"), "new"));

  EXPECT_EQ(tree.Read("state"), "new");
}

TEST(ReplaceFileTest, DoesNotFollowALinkPlantedAsTheTemporary) {
  const TempTree tree{{"state", "old"}, {"victim", "precious"}};
  ASSERT_EQ(::symlink(tree.Path("victim").c_str(), tree.Path("state.new").c_str()), 0);

  EXPECT_FALSE(ReplaceFile(tree.Path("state"), "new"));

  EXPECT_EQ(tree.Read("victim"), "precious");
  EXPECT_EQ(tree.Read("state"), "old");
}

TEST(ReplaceFileTest, AMissingDirectoryIsAnError) {
  const TempTree tree;

  const auto replaced = ReplaceFile(tree.Path("gone/state"), "x");

  ASSERT_FALSE(replaced);
  EXPECT_EQ(replaced.error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace rb
