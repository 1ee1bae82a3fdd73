// The manual page and the completions, which `softamp` makes from the description of its own options: what each shell
// and man make of them, and that they leave out nothing that `--help` names and offer nothing that a verb refuses.
#include "tests/program/process.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace softamp::test::description {
namespace {

const std::string kFolder = SOFTAMP_SOURCE_DIR "/tests/program/";

using Words = std::vector<std::string>;

bool is_installed(const std::string& tool) { return run_shell("command -v " + tool).code == 0; }

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, at);)
    if (!part.empty()) parts.push_back(part);
  return parts;
}

/// The first groups of all matches.
std::vector<std::string> matches(const std::string& text, const std::string& pattern) {
  const std::regex wanted(pattern);
  std::vector<std::string> found;
  for (auto it = std::sregex_iterator(text.begin(), text.end(), wanted); it != std::sregex_iterator(); ++it)
    found.push_back((*it)[1]);
  return found;
}

std::string help_of(const std::string& verb) { return run_softamp(verb + " --help").out; }

/// As `softamp --help` lists them.
std::vector<std::string> verbs() {
  const std::string help = help_of("");
  // CLI11 from version 2.4 on writes headings in capitals.
  const size_t from = std::min(help.find("Subcommands:\n"), help.find("SUBCOMMANDS:\n")), to = help.find("\n\n", from);
  return matches(help.substr(from, to - from), "\n  ([a-z]+) ");
}

/// The long options that `softamp VERB --help` lists.
std::vector<std::string> options_of(const std::string& verb) {
  return matches(help_of(verb), "\n  (?:-[a-z], ?)?(--[a-z0-9-]+)");
}

class Completions : public ::testing::Test {
 protected:
  Completions() {
    for (const auto& [shell, file] :
         {std::pair("bash", "softamp.bash"), {"zsh", "_softamp"}, {"fish", "softamp.fish"}}) {
      const Outcome made = run_softamp("completions " + std::string(shell));
      EXPECT_EQ(made.code, 0) << made.err;
      write_text(this->file(file), made.out);
    }
  }
  std::string file(const std::string& name) const { return folder_.file(name); }

  /// What bash offers at the end of the line.
  std::vector<std::string> bash(const std::string& line) const {
    const Outcome o = run_shell("bash " + kFolder + "complete.bash " + file("softamp.bash") + " '" + line + "'");
    EXPECT_EQ(o.code, 0) << line;
    EXPECT_EQ(o.err, "") << line;
    return split(o.out, '\n');
  }
  std::vector<std::string> fish(const std::string& line) const {
    const Outcome o =
        run_shell("fish --no-config -c 'source " + file("softamp.fish") + "; complete -C \"" + line + "\"'");
    EXPECT_EQ(o.err, "") << line;
    std::vector<std::string> words = split(o.out, '\n');
    for (std::string& word : words) word = word.substr(0, word.find('\t'));
    // From version 4 on fish also offers words that only hold the letters typed: --overflow for --ro.
    const std::string typed = line.substr(line.rfind(' ') + 1);
    std::erase_if(words, [&](const std::string& word) { return !word.starts_with(typed); });
    return words;
  }
  /// What zsh makes of the line and a tab; empty where there is no pseudo-terminal for it.
  std::string zsh(const std::string& line) const {
    const Outcome o =
        run_shell("timeout 60 zsh -f " + kFolder + "complete.zsh " + folder_.path().string() + " '" + line + "'");
    if (o.code == 77) return "";
    EXPECT_EQ(o.code, 0) << line << o.err;
    return o.out;
  }

  /// The words that the script of bash holds for an option: of "--a | --b) kind=other words='x y' ;;".
  Words words_in_script(const std::string& verb, const std::string& option) const {
    const std::string script = read_text(file("softamp.bash"));
    const size_t from = script.find("\n    " + verb + ")\n      case $2 in\n");
    EXPECT_NE(from, std::string::npos) << verb;
    const std::string section = script.substr(from, script.find("\n      esac\n", from) - from);
    const Words found = matches(section, "[ |]" + option + "(?: \\| [^)]*)?\\) kind=[a-z]+ words='([^']*)' ;;");
    return found.empty() ? Words{} : split(found.front(), ' ');
  }

 private:
  TemporaryFolder folder_;
};

TEST_F(Completions, BashCompletesVerbsOptionsAndValues) {
  EXPECT_EQ(bash("softamp su"), Words{"sum"});
  EXPECT_EQ(bash("softamp --ver"), Words{"--version"});
  EXPECT_EQ(bash("softamp sum --ro"), Words{"--rounding"});
  EXPECT_EQ(bash("softamp sum --rounding st"), Words{"stochastic"});
  EXPECT_EQ(bash("softamp sum --rounding=st"), Words{"stochastic"});
  EXPECT_EQ(bash("softamp sum --preset "), (Words{"ieee", "ipu"}));
  EXPECT_EQ(bash("softamp sum --preset="), (Words{"ieee", "ipu"}));
  EXPECT_EQ(bash("softamp sum --count "), Words{}) << "a number";
  EXPECT_EQ(bash("softamp sum --count 3 --pre"), Words{"--preset"}) << "after a value";
  EXPECT_EQ(bash("softamp sum --rounding=up --preset i"), (Words{"ieee", "ipu"})) << "after a value joined by =";
  EXPECT_EQ(bash("softamp nothing --x"), Words{});
}

TEST_F(Completions, BashCompletesPositionalsAndFiles) {
  const TemporaryFolder folder;
  const std::string there = folder.path().string() + "/";
  write_text(folder.file("graph.json"), "");
  std::filesystem::create_directory(folder.path() / "graphs");
  EXPECT_EQ(bash("softamp reproduce harm"), Words{"harmonic-series"});
  EXPECT_EQ(bash("softamp compute f16_mulA"), Words{"f16_mulAdd"});
  EXPECT_EQ(bash("softamp chips intel_xe amd_cdna4 nvidia_sm103 ten"), Words{"tenstorrent_wh"}) << "any number of them";
  EXPECT_EQ(bash("softamp run " + there + "graph.j"), Words{there + "graph.json"});
  EXPECT_EQ(bash("softamp compare " + there + "graph.json " + there + "graph.j"), Words{there + "graph.json"});
  EXPECT_EQ(bash("softamp run --feed x=" + there + "graph.j"), Words{there + "graph.json"});
  EXPECT_EQ(bash("softamp run --out " + there + "g"), Words{there + "graphs"}) << "folders alone";
  EXPECT_EQ(bash("softamp rewrite --tensorflow=20"), Words{"2019"});
  EXPECT_EQ(bash("softamp rewrite --tensorflow " + there + "graph.j"), Words{there + "graph.json"})
      << "the value of --tensorflow stands behind an equals sign alone";
  EXPECT_EQ(bash("softamp train --set batch_s"), Words{"batch_size="});
}

TEST_F(Completions, FishCompletesVerbsOptionsAndValues) {
  if (!is_installed("fish")) GTEST_SKIP() << "fish is not installed";
  EXPECT_EQ(fish("softamp su"), Words{"sum"});
  EXPECT_EQ(fish("softamp sum --ro"), Words{"--rounding"});
  EXPECT_EQ(fish("softamp sum --rounding st"), Words{"stochastic"});
  EXPECT_EQ(fish("softamp sum --preset="), (Words{"--preset=ieee", "--preset=ipu"}));
  EXPECT_EQ(fish("softamp reproduce harm"), Words{"harmonic-series"});
}

TEST_F(Completions, ZshCompletesVerbsOptionsAndValues) {
  if (!is_installed("zsh")) GTEST_SKIP() << "zsh is not installed";
  if (zsh("softamp su").empty()) GTEST_SKIP() << "this system has no pseudo-terminals for zsh";
  EXPECT_EQ(zsh("softamp su"), "softamp sum\n");
  EXPECT_EQ(zsh("softamp sum --ro"), "softamp sum --rounding\n");
  EXPECT_EQ(zsh("softamp sum --rounding st"), "softamp sum --rounding stochastic\n");
  EXPECT_EQ(zsh("softamp rewrite --tensorflow=20"), "softamp rewrite --tensorflow=2019\n");
  EXPECT_EQ(zsh("softamp reproduce harm"), "softamp reproduce harmonic-series\n");
}

TEST_F(Completions, EveryVerbAndOptionOfTheHelpIsOfferedByEachShell) {
  const std::string zsh = read_text(file("_softamp")), fish = read_text(file("softamp.fish"));
  const Words fish_lines = split(fish, '\n');
  Words names = verbs();
  ASSERT_GT(names.size(), 10u);
  const Words offered = bash("softamp ");
  for (const std::string& verb : names) {
    EXPECT_NE(std::find(offered.begin(), offered.end(), verb), offered.end()) << verb;
    EXPECT_TRUE(contains(zsh, "\n    " + verb + ")\n")) << verb;
    const Words options = options_of(verb), of_bash = bash("softamp " + verb + " --");
    EXPECT_EQ(std::set(options.begin(), options.end()), std::set(of_bash.begin(), of_bash.end())) << verb;
    const std::string in_zsh = zsh.substr(zsh.find("\n    " + verb + ")\n"));
    for (const std::string& option : options) {
      EXPECT_TRUE(contains(in_zsh.substr(0, in_zsh.find(";;")), option)) << verb << ' ' << option;
      EXPECT_NE(fish.find(" -n '__fish_seen_subcommand_from " + verb + "'"), std::string::npos);
      const auto offers = [&](const std::string& line) {
        const size_t at = line.find("__fish_seen_subcommand_from " + verb + "'");
        return at != std::string::npos && line.find(" -l " + option.substr(2) + " ", at) != std::string::npos;
      };
      EXPECT_EQ(std::ranges::count_if(fish_lines, offers), 1) << verb << ' ' << option;
    }
  }
}

/// What must stand beside an option before its verb looks at its value.
std::string line_of(const std::string& verb, const std::string& option) {
  const std::string graph = SOFTAMP_SOURCE_DIR "/examples/graphs/two_dense_layers.json";
  if (verb == "run") return "run " + graph;
  if (verb == "rewrite" && option != "--level" && option != "--policy") return "rewrite " + graph + " --level O2";
  if (verb == "rewrite") return "rewrite " + graph;
  return verb;
}

TEST_F(Completions, TheWordsAreThoseThatTheVerbKnows) {
  int compared = 0;
  for (const std::string& verb : verbs()) {
    for (const std::string& option : options_of(verb)) {
      const Words words = words_in_script(verb, option);
      if (words.empty() || words.front().back() == '=') continue;
      // "... unknown rounding 'nothing'; nearest: ...; known: nearest (nearest-even, rne), up (ru), ..."
      const std::string error = run_softamp(line_of(verb, option) + " " + option + "=nothing").err;
      const size_t at = error.find("; known: ");
      if (at == std::string::npos) continue;
      std::string known = std::regex_replace(error.substr(at + 9), std::regex(" \\([^)]*\\)"), "");
      known = known.substr(0, std::min(known.find(", or "), known.find('\n')));
      std::set<std::string> expected;
      for (const std::string& word : split(std::regex_replace(known, std::regex(", "), ","), ','))
        expected.insert(word);
      if (verb == "round" && option == "--random") expected.erase("xoroshiro128aox");  // whose order is a tile's
      if (option == "--format" && verb != "inspect") expected.erase("fp64");           // for conversions only
      if (option == "--codes") expected.erase("fp64");                                 // which has no unsigned elements
      if (verb == "inspect" && option == "--chip") expected.insert("all");
      EXPECT_EQ(std::set(words.begin(), words.end()), expected) << verb << ' ' << option;
      ++compared;
    }
  }
  EXPECT_GE(compared, 30);
}

TEST(ManPage, RendersWithoutAWarning) {
  const Outcome page = run_softamp("man");
  ASSERT_EQ(page.code, 0) << page.err;
  if (!is_installed("groff")) GTEST_SKIP() << "groff is not installed (Debian package groff-base)";
  const Outcome checked = run_shell("groff -man -Tutf8 -ww -z", page.out);
  EXPECT_EQ(checked.code, 0);
  EXPECT_EQ(checked.err, "");
}

TEST(ManPage, NamesEveryVerbAndOption) {
  const std::string page = run_softamp("man").out;
  for (const std::string& verb : verbs()) {
    const size_t at = page.find("\n.SS " + verb + "\n");
    ASSERT_NE(at, std::string::npos) << verb;
    const std::string section = page.substr(at, page.find("\n.SS ", at + 1) - at);
    for (const std::string& option : options_of(verb)) {
      if (option == "--help") continue;
      EXPECT_TRUE(contains(section, "\\fB" + std::regex_replace(option, std::regex("-"), "\\-") + "\\fR"))
          << verb << ' ' << option;
    }
  }
  for (const char* section : {"NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "VERBS", "EXIT CODES", "EXAMPLES"})
    EXPECT_TRUE(contains(page, "\n.SH " + std::string(section) + "\n")) << section;
}

TEST(ManPage, UnknownShellsAreRefused) {
  const Outcome o = run_softamp("completions zhs");
  EXPECT_EQ(o.code, 2);
  EXPECT_EQ(o.out, "");
  EXPECT_EQ(o.err, "softamp completions: SHELL: unknown shell 'zhs'; nearest: zsh; known: bash, zsh, fish\n");
}

}  // namespace
}  // namespace softamp::test::description
