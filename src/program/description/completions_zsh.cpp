// The script for zsh: a file `_softamp` on fpath, or sourced.
#include "src/program/description/completions.h"
#include "src/text/joined.h"

namespace softamp::program {
namespace {

/// In "[...]" of a specification of _arguments.
std::string bracketed(const std::string& description) {
  return "[" + with_backslashes(short_text(description), "\\[]:") + "]";
}

std::string action_of(const OptionText& option) {
  if (option.kind == ValueKind::kDirectory) return "_files -/";
  const bool file = option.kind == ValueKind::kFile;
  if (option.words.empty()) return file ? "_files" : " ";
  // The beginning of a value takes no blank behind it.
  const std::string compadd = std::string("compadd ") + (option.words.front().ends_with('=') ? "-S \"\" " : "") +
                              "-- " + joined(option.words, " ");
  return file ? "{_alternative \"words\\:word\\:(" + joined(option.words, " ") + ")\" \"files\\:file\\:_files\"}"
              : "{" + compadd + "}";
}

std::string value_of(const OptionText& option) {
  if (!option.has_value()) return "";
  return std::string(option.optional_value ? "::" : ":") + with_backslashes(option.value, "\\:") + ":" +
         action_of(option);
}

/// '(--rounding)--chip=[round as this chip]:WORD:{compadd -- ...}', for each name of the option.
std::string specifications(const OptionText& option) {
  std::string text;
  for (const std::string& name : option.names) {
    const bool is_long = name.starts_with("--");
    std::string excluded;
    std::vector<std::string> others = option.excludes;
    if (!option.repeatable) others.insert(others.end(), option.names.begin(), option.names.end());
    if (!others.empty()) excluded += "(" + joined(others, " ") + ")";
    if (option.repeatable) excluded += "*";
    // "--option=" takes its value behind an equals sign or as the next word; "--option=-" behind the sign alone.
    const std::string sign = !option.has_value() ? "" : option.joined ? "=-" : is_long ? "=" : "+";
    text +=
        " \\\n        " + quoted_for_shell(excluded + name + sign + bracketed(option.description) + value_of(option));
  }
  return text;
}

std::string arguments(const VerbText& verb) {
  std::string text = "_arguments -s";
  for (const OptionText& option : verb.options) text += specifications(option);
  for (const OptionText& positional : verb.positionals)
    text +=
        " \\\n        " + quoted_for_shell((positional.repeatable ? "*:"
                                            : positional.required ? ":"
                                                                  : "::") +
                                           with_backslashes(positional.name(), "\\:") + ":" + action_of(positional));
  return text;
}

}  // namespace

std::string zsh_completion(const CommandLine& line) {
  std::string verbs, branches, options;
  for (const VerbText& verb : line.verbs) {
    verbs +=
        "        " + quoted_for_shell(with_backslashes(verb.name, ":") + ":" + short_text(verb.description)) + "\n";
    branches += "    " + verb.name + ")\n      " + arguments(verb) + "\n      ;;\n";
  }
  for (const OptionText& option : line.program.options) options += specifications(option);
  return "#compdef softamp\n# zsh completion of softamp; made by `softamp completions zsh`\n\n"
         "_softamp() {\n"
         "  local context state state_descr line\n"
         "  typeset -A opt_args\n"
         "  _arguments -C" +
         options +
         " \\\n        ':verb:->verb' '*:: :->rest' && return\n"
         "  case $state in\n"
         "    verb)\n"
         "      local -a verbs=(\n" +
         verbs +
         "      )\n"
         "      _describe verb verbs\n"
         "      return\n"
         "      ;;\n"
         "  esac\n"
         "  case $line[1] in\n" +
         branches +
         "  esac\n"
         "}\n\n"
         "if [ \"$funcstack[1]\" = _softamp ]; then\n"
         "  _softamp \"$@\"\n"
         "else\n"
         "  compdef _softamp softamp\n"
         "fi\n";
}

}  // namespace softamp::program
