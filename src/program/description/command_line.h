// What the command line of `softamp` takes, read from CLI11's own description of it: the one source of the manual page
// and of the completions.
#pragma once

#include "src/program/cli.h"

#include <string>
#include <vector>

namespace softamp::program {

/// What a completion offers for a value that is not among the words.
enum class ValueKind {
  kNone,       ///< a flag: no value
  kOther,      ///< a number, a name of the user's, ...
  kFile,       ///< the name of a file
  kDirectory,  ///< the name of a folder
};

/// An option, or a positional.
struct OptionText {
  std::vector<std::string> names;  ///< "-h", "--help"; of a positional its one name, "GRAPH"
  std::string value;               ///< as the help calls it, "WORD"; empty for a flag
  std::string description;
  std::vector<std::string> words;  ///< that the value can be, if they can be listed
  ValueKind kind = ValueKind::kNone;
  bool required = false;
  bool repeatable = false;
  /// The value may be left out: "--tensorflow", "--tensorflow=2019" (`joined`: not as a word of its own).
  bool optional_value = false, joined = false;
  std::vector<std::string> excludes;  ///< options that cannot be combined with it

  const std::string& name() const { return names.back(); }
  bool has_value() const { return kind != ValueKind::kNone; }
};

struct VerbText {
  std::string name;  ///< "sum"; of the program "softamp"
  std::string description;
  std::vector<OptionText> options, positionals;
  std::string footer;  ///< lines for people: remarks, exit codes, examples
};

struct CommandLine {
  VerbText program;
  std::vector<VerbText> verbs;
};

CommandLine command_line_of(const cli::App& program);

/// The first statement of a description, for a line beside a completion: without default, without a full stop.
std::string short_text(const std::string& description);

/// `text` with a backslash before each of `special`.
std::string with_backslashes(const std::string& text, const std::string& special);

/// The words with blanks between them.

}  // namespace softamp::program
