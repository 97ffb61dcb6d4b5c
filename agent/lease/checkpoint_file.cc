#include "agent/lease/checkpoint_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "common/base/files.h"

namespace rb::agent {
namespace {

std::string FreeNameBeside(const std::string& path) {
  for (int n = 1;; ++n) {
    std::string name = path + ".corrupt-" + std::to_string(n);
    if (::access(name.c_str(), F_OK) != 0) return name;
  }
}

}  // namespace

Result<std::optional<rest::Checkpoint>> LoadCheckpoint(const std::string& path) {
  auto text = ReadSmallFile(path);
  if (!text && text.error().code == ErrorCode::kNotFound) return std::nullopt;
  if (!text) return tl::unexpected(text.error());
  auto checkpoint = rest::ParseCheckpoint(*text);
  if (checkpoint) return std::move(*checkpoint);

  const std::string aside = FreeNameBeside(path);
  if (std::rename(path.c_str(), aside.c_str()) != 0) {
    return FailErrno("checkpoint " + path + " is damaged and could not be set aside", errno);
  }
  return Fail(ErrorCode::kCorrupt,
              "checkpoint " + path + ": " + checkpoint.error().message + "; set aside as " + aside);
}

Result<void> SaveCheckpoint(const std::string& path, const std::string& content) {
  return ReplaceFile(path, content);
}

}  // namespace rb::agent
