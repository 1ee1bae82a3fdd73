// Scripts that complete the command line of `softamp` in a shell, made from its description.
#pragma once

#include "src/program/description/command_line.h"

#include <string>

namespace softamp::program {

std::string bash_completion(const CommandLine& line);
std::string zsh_completion(const CommandLine& line);
std::string fish_completion(const CommandLine& line);

/// `text` in single quotes of a POSIX shell, zsh among them.
std::string quoted_for_shell(const std::string& text);

}  // namespace softamp::program
