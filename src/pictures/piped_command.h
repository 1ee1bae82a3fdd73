// Another program, with text in and text out, through pipes alone: no disk can be full, no file has a name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace softamp {

/// What a program has written, and how it ended.
struct PipedCommand {
  std::string output, said;  ///< standard output; standard error
  int status = 0;            ///< as waitpid gives it
  int error = 0;             ///< errno of a read that failed: not all of it is here
};

/// Runs `words`, the first looked for in $PATH, with `input` on its standard input, until it ends. It runs in its own
/// process group, so that the terminal's Ctrl-C reaches only this program, which may still need what it makes. Throws
/// std::system_error where it cannot be started.
PipedCommand run_piped(const std::vector<std::string>& words, std::string_view input);

}  // namespace softamp
