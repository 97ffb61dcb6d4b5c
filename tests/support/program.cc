#include "tests/support/program.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>

#include "common/base/result.h"

namespace rb::test {
namespace {

std::string ReadEnd(int fd) {
  std::string text;
  std::array<char, 4096> buffer{};
  for (ssize_t got = 0; (got = ::read(fd, buffer.data(), buffer.size())) > 0;) {
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return text;
}

}  // namespace

Program::Program(std::vector<std::string> arguments) {
  std::array<int, 2> out{};
  std::array<int, 2> err{};
  RB_CHECK(::pipe2(out.data(), O_CLOEXEC) == 0 && ::pipe2(err.data(), O_CLOEXEC) == 0);
  out_.Reset(out[0]);
  err_.Reset(err[0]);
  const UniqueFd out_write(out[1]);
  const UniqueFd err_write(err[1]);
  posix_spawn_file_actions_t actions{};
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, err[1], STDERR_FILENO);
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  RB_CHECK(::posix_spawn(&pid_, argv[0], &actions, nullptr, argv.data(), environ) == 0);
  ::posix_spawn_file_actions_destroy(&actions);
}

Program::~Program() {
  if (pid_ <= 0) return;
  Signal(SIGKILL);
  (void)Wait();
}

void Program::Signal(int signal) const { (void)::kill(pid_, signal); }

std::string Program::ReadLine() {
  std::string line;
  char c = 0;
  while (::read(out_.get(), &c, 1) == 1 && c != '\n') line += c;
  return line;
}

std::string Program::ReadAll() { return ReadEnd(out_.get()); }
std::string Program::ReadErrors() { return ReadEnd(err_.get()); }

int Program::Wait() {
  int status = 0;
  RB_CHECK(::waitpid(pid_, &status, 0) == pid_);
  pid_ = -1;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace rb::test
