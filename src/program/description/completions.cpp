// softamp completions: the scripts by which shells complete its command line.
#include "src/program/description/completions.h"

#include "src/program/description/words.h"
#include "src/program/program.h"
#include "src/text/word.h"

#include "softamp/names/names.h"

#include <iostream>
#include <memory>
#include <utility>

namespace softamp::program {
namespace {

using Maker = std::string (*)(const CommandLine&);
constexpr std::pair<const char*, Maker> kShells[] = {
    {"bash", bash_completion}, {"zsh", zsh_completion}, {"fish", fish_completion}};

Words shell_names() {
  Words names;
  for (const auto& [name, make] : kShells) names.emplace_back(name);
  return names;
}

int run_completions(const cli::App& program, const std::string& shell) {
  for (const auto& [name, make] : kShells) {
    if (!same_word(shell, name)) continue;
    std::cout << make(command_line_of(program));
    return kSuccess;
  }
  throw UsageError("SHELL: " + unknown_name_message("shell", shell, shell_names()));
}

}  // namespace

Verb add_completions(const cli::App& program) {
  cli::App app =
      program.add_subcommand("completions", "Print the script that completes softamp's command line in a shell");
  const auto shell = std::make_shared<std::string>();
  app.add_option("SHELL", *shell, "bash, zsh, fish").required().type_name("WORD");
  offer(app, "SHELL", shell_names);
  app.footer(
      R"(`cmake --install` puts the scripts where the shells look for them under a prefix such as /usr/local. By hand:

Examples:
  source <(softamp completions bash)                                       # this bash; or a line of ~/.bashrc
  softamp completions zsh > ~/.zfunc/_softamp                              # a folder of zsh's fpath
  softamp completions fish > ~/.config/fish/completions/softamp.fish)");
  return {app, [program, shell] { return run_completions(program, *shell); }};
}

}  // namespace softamp::program
