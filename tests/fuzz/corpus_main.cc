// Runs a fuzz target over files and folders, once each: the corpus as a plain test, on any
// compiler. It also cuts every file short at some places, which finds most of a parser's bad reads
// under a sanitizer.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

void RunBytes(const std::vector<std::uint8_t>& bytes) {
  // A buffer of exactly this size, so that a read past its end is seen.
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
}

void RunFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<std::uint8_t> bytes{std::istreambuf_iterator<char>(file), {}};
  RunBytes(bytes);
  const std::size_t step = bytes.size() / 64 + 1;
  for (std::size_t length = 0; length < bytes.size(); length += step) {
    RunBytes({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length)});
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t files = 0;
  for (int i = 1; i < argc; ++i) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(argv[i])) {
      if (!entry.is_regular_file()) continue;
      RunFile(entry.path());
      ++files;
    }
  }
  std::printf("%zu corpus files\n", files);
  // An empty corpus tests nothing: a wrong folder must not pass.
  return files > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
