// A throw-away directory tree for tests of code that reads and writes kernel files.
//
//   TempTree tree{{"pod1/rdma.max", "rxe0 hca_handle=max\n"}};
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <string>
#include <utility>

namespace rb::test {

class TempTree {
 public:
  TempTree(std::initializer_list<std::pair<std::string, std::string>> files) {
    std::string pattern = (std::filesystem::temp_directory_path() / "rb-tree-XXXXXX").string();
    root_ = ::mkdtemp(pattern.data());
    for (const auto& [path, content] : files) Write(path, content);
  }
  TempTree() : TempTree({}) {}
  ~TempTree() {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }
  TempTree(const TempTree&) = delete;
  TempTree& operator=(const TempTree&) = delete;

  const std::filesystem::path& root() const { return root_; }
  std::string Path(const std::string& path) const { return (root_ / path).string(); }

  void Write(const std::string& path, const std::string& content) {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << content;
  }
  std::string Read(const std::string& path) const {
    std::ifstream file(root_ / path);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  bool Exists(const std::string& path) const { return std::filesystem::exists(root_ / path); }

 private:
  std::filesystem::path root_;
};

}  // namespace rb::test
