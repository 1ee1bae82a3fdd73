// The script for fish: one command a line.
#include "src/program/description/completions.h"
#include "src/text/joined.h"

namespace softamp::program {
namespace {

/// fish knows two escapes in single quotes.
std::string quoted(const std::string& text) { return "'" + with_backslashes(text, "\\'") + "'"; }

std::string described(const std::string& description) { return " -d " + quoted(short_text(description)); }

/// What a value is completed from; -f and -F decide about files.
std::string values_of(const OptionText& option) {
  const bool file = option.kind == ValueKind::kFile;
  const std::string words =
      option.kind == ValueKind::kDirectory ? "(__fish_complete_directories)" : joined(option.words, " ");
  return (file ? " -F" : " -f") + (words.empty() ? "" : " -a " + quoted(words));
}

std::string option_line(const std::string& condition, const OptionText& option) {
  std::string text = "complete -c softamp" + condition;
  for (const std::string& name : option.names)
    text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  // Without -r a value is completed behind "--option=" alone.
  if (option.has_value()) text += (option.optional_value ? "" : " -r") + values_of(option);
  return text + described(option.description) + "\n";
}

}  // namespace

std::string fish_completion(const CommandLine& line) {
  std::string text = "# fish completion of softamp; made by `softamp completions fish`\n\ncomplete -c softamp -f\n";
  const std::string no_verb = " -n __fish_use_subcommand";
  for (const OptionText& option : line.program.options) text += option_line(no_verb, option);
  for (const VerbText& verb : line.verbs)
    text += "complete -c softamp" + no_verb + " -a " + verb.name + described(verb.description) + "\n";
  for (const VerbText& verb : line.verbs) {
    const std::string of_verb = " -n '__fish_seen_subcommand_from " + verb.name + "'";
    text += "\n# softamp " + verb.name + "\n";
    for (const OptionText& option : verb.options) text += option_line(of_verb, option);
    for (const OptionText& positional : verb.positionals)
      if (positional.kind != ValueKind::kOther || !positional.words.empty())
        text += "complete -c softamp" + of_verb + values_of(positional) + described(positional.description) + "\n";
  }
  return text;
}

}  // namespace softamp::program
