#include "common/base/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace rb {
namespace {

Result<std::string> ReadAll(int fd, const std::string& name) {
  std::string content;
  std::array<char, 4096> chunk{};
  while (true) {
    const ssize_t got = ::read(fd, chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return FailErrno("read " + name, errno);
    if (got == 0) return content;
    content.append(chunk.data(), static_cast<std::size_t>(got));
    if (content.size() > kSmallFileBytesMax) {
      return Fail(ErrorCode::kExhausted, "read " + name + ": larger than " +
                                             std::to_string(kSmallFileBytesMax) + " bytes");
    }
  }
}

Result<void> WriteAll(int fd, const std::string& name, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = ::write(fd, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return FailErrno("write " + name, errno);
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

std::string ParentOf(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

Result<UniqueFd> OpenDirectory(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return FailErrno("open " + path, errno);
  return fd;
}

Result<std::string> ReadSmallFile(const std::string& path) {
  return ReadSmallFileAt(AT_FDCWD, path);
}

Result<std::string> ReadSmallFileAt(int directory, const std::string& name) {
  const UniqueFd fd(::openat(directory, name.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return FailErrno("open " + name, errno);
  return ReadAll(fd.get(), name);
}

Result<void> WriteKernelFile(const std::string& path, std::string_view text) {
  return WriteKernelFileAt(AT_FDCWD, path, text);
}

Result<void> WriteKernelFileAt(int directory, const std::string& name, std::string_view text) {
  const UniqueFd fd(::openat(directory, name.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd) return FailErrno("open " + name, errno);
  if (::write(fd.get(), text.data(), text.size()) < 0) return FailErrno("write " + name, errno);
  return {};
}

Result<void> ReplaceFile(const std::string& path, std::string_view content) {
  const std::string temporary = path + ".new";
  {
    const UniqueFd fd(
        ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!fd) return FailErrno("open " + temporary, errno);
    RB_TRY_VOID(WriteAll(fd.get(), temporary, content));
    if (::fsync(fd.get()) != 0) return FailErrno("fsync " + temporary, errno);
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) return FailErrno("rename to " + path, errno);
  RB_TRY(const UniqueFd parent, OpenDirectory(ParentOf(path)));
  if (::fsync(parent.get()) != 0) return FailErrno("fsync " + ParentOf(path), errno);
  return {};
}

}  // namespace rb
