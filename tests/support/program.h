// A child program with its output, for tests. Threading: one thread.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "common/bare/unique_fd.h"

namespace rb::test {

class Program {
 public:
  // REQUIRES: `arguments` starts with the program's path.
  explicit Program(std::vector<std::string> arguments);
  // Kills it when it still runs.
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  pid_t pid() const { return pid_; }
  void Signal(int signal) const;

  // One line of stdout without its end; "" at the end of the output.
  std::string ReadLine();
  // Everything that is left, up to the moment nobody holds stdout any more.
  std::string ReadAll();
  std::string ReadErrors();
  // The exit status, 128 + signal when one ended it.
  int Wait();

 private:
  pid_t pid_ = -1;
  UniqueFd out_;
  UniqueFd err_;
};

}  // namespace rb::test
