// Runs the command `softamp`, as a user would, and collects what it says.
#pragma once

#include <sys/wait.h>

#include <cstdlib>
#include <string>

#include "tests/files.h"

namespace softamp::testing {

struct Outcome {
  int code;  ///< exit code; -1 where a signal ended the program
  std::string out, err;
};

/// Runs a shell command with `input` on its standard input.
inline Outcome run_shell(const std::string& command, const std::string& input = "") {
  const TemporaryFolder folder;
  write_text(folder.file("in"), input);
  const std::string line =
      "( " + command + " ) < " + folder.file("in") + " > " + folder.file("out") + " 2> " + folder.file("err");
  const int status = std::system(line.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_text(folder.file("out")), read_text(folder.file("err"))};
}

/// Runs `softamp` with these arguments, written as in a shell.
inline Outcome run_softamp(const std::string& arguments, const std::string& input = "") {
  return run_shell("'" SOFTAMP_PROGRAM "' " + arguments, input);
}

}  // namespace softamp::testing
