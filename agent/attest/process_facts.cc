#include "agent/attest/process_facts.h"

#include <sys/stat.h>

#include <cerrno>
#include <charconv>

#include "common/base/files.h"

namespace rb::agent {
namespace {

std::string_view NextLine(std::string_view* text) {
  const std::size_t end = text->find('\n');
  const std::string_view line = text->substr(0, end);
  text->remove_prefix(end == std::string_view::npos ? text->size() : end + 1);
  return line;
}

std::string_view WithoutNewline(std::string_view text) {
  return text.ends_with('\n') ? text.substr(0, text.size() - 1) : text;
}

}  // namespace

Result<std::string> ParseCgroup(std::string_view text) {
  static constexpr std::string_view kUnified = "0::";
  while (!text.empty()) {
    std::string_view line = NextLine(&text);
    if (!line.starts_with(kUnified)) continue;
    line.remove_prefix(kUnified.size());
    // The kernel marks a cgroup that was removed under its process.
    if (line.ends_with(" (deleted)")) return Fail(ErrorCode::kNotFound, "cgroup: deleted");
    if (!line.starts_with('/') || line.starts_with("/..")) {
      return Fail(ErrorCode::kInvalid, "cgroup: outside the agent's cgroup namespace");
    }
    return std::string(line);
  }
  return Fail(ErrorCode::kUnsupported, "cgroup: no cgroup2 line");
}

Result<std::uint64_t> ParseStartTime(std::string_view text) {
  // Fields are counted behind the last ')': the command may hold anything, also ") R 1".
  const std::size_t command_end = text.rfind(')');
  if (command_end == std::string_view::npos) return Fail(ErrorCode::kCorrupt, "stat: no command");
  std::string_view rest = text.substr(command_end + 1);
  constexpr int kStartTimeAfterCommand = 20;  // field 22; the first behind the command is field 3
  for (int field = 1; field <= kStartTimeAfterCommand; ++field) {
    const std::size_t begin = rest.find_first_not_of(' ');
    if (begin == std::string_view::npos) return Fail(ErrorCode::kCorrupt, "stat: too few fields");
    rest.remove_prefix(begin);
    const std::size_t end = rest.find(' ');
    const std::string_view value = rest.substr(0, end);
    if (field == kStartTimeAfterCommand) {
      std::uint64_t ticks = 0;
      const auto [at, error] = std::from_chars(value.data(), value.data() + value.size(), ticks);
      if (error != std::errc{} || at != value.data() + value.size()) break;
      return ticks;
    }
    rest.remove_prefix(value.size());
  }
  return Fail(ErrorCode::kCorrupt, "stat: no start time");
}

Result<uid_t> ParseEffectiveUid(std::string_view text) {
  static constexpr std::string_view kKey = "Uid:\t";
  while (!text.empty()) {
    std::string_view line = NextLine(&text);
    if (!line.starts_with(kKey)) continue;
    line.remove_prefix(kKey.size());
    const std::size_t real_end = line.find('\t');  // the real uid comes first
    if (real_end == std::string_view::npos) break;
    line.remove_prefix(real_end + 1);
    line = line.substr(0, line.find('\t'));
    uid_t uid = 0;
    const auto [at, error] = std::from_chars(line.data(), line.data() + line.size(), uid);
    if (error != std::errc{} || at != line.data() + line.size()) break;
    return uid;
  }
  return Fail(ErrorCode::kCorrupt, "status: no effective uid");
}

Result<ProcessFacts> ProcFs::Read(pid_t pid) const {
  const std::string base = root_ + "/" + std::to_string(pid);
  // One directory descriptor: all files below it are of one process, even if the pid is reused.
  RB_TRY(const UniqueFd directory, OpenDirectory(base));
  RB_TRY(const std::string cgroup_text, ReadSmallFileAt(directory.get(), "cgroup"));
  RB_TRY(const std::string stat_text, ReadSmallFileAt(directory.get(), "stat"));
  RB_TRY(const std::string command, ReadSmallFileAt(directory.get(), "comm"));
  RB_TRY(const std::string status_text, ReadSmallFileAt(directory.get(), "status"));

  struct stat owner{};
  if (::fstat(directory.get(), &owner) != 0) return FailErrno("stat " + base, errno);

  ProcessFacts facts;
  facts.pid = pid;
  facts.uid = owner.st_uid;
  RB_TRY(facts.start_time_ticks, ParseStartTime(stat_text));
  RB_TRY(facts.cgroup, ParseCgroup(cgroup_text));
  RB_TRY(facts.effective_uid, ParseEffectiveUid(status_text));
  facts.command = std::string(WithoutNewline(command));
  return facts;
}

}  // namespace rb::agent
