// Runs the command `softamp`, as a user would, and collects what it says.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <string>

#include "tests/files.h"

namespace softamp::test {

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

/// The message, once it has been seen to be a usage error.
inline std::string error_of(const std::string& arguments) {
  const Outcome outcome = run_softamp(arguments);
  EXPECT_EQ(outcome.code, 2) << arguments;
  EXPECT_EQ(outcome.out, "") << arguments;
  return outcome.err;
}

}  // namespace softamp::test
