// The script for bash: it needs bash 4 alone, not the package bash-completion.
#include "src/program/description/completions.h"
#include "src/text/joined.h"

#include <map>

namespace softamp::program {
namespace {

/// Says what stands where the cursor is.
constexpr const char* kFunction = R"(
_softamp() {
  local tokens=() glued= option= place=1 kind= words= word cursor verb last i
  COMPREPLY=()
  # bash splits a line at '=', too: `--format=fp16` is three words.
  for word in "${COMP_WORDS[@]:0:COMP_CWORD+1}"; do
    if [ -n "$glued" ] || [ "$word" = = ]; then
      tokens[${#tokens[@]} - 1]+=$word
    else
      tokens+=("$word")
    fi
    glued=
    [ "$word" != = ] || glued=yes
  done
  last=$((${#tokens[@]} - 1)) verb=${tokens[1]} cursor=${tokens[${#tokens[@]} - 1]}

  if [ "$last" -lt 2 ]; then
    words=@VERBS@
  else
    # The cursor is on the value of the option before it, or on an option, or on the word at `place`.
    for ((i = 2; i < last; i++)); do
      case ${tokens[i]} in
        -*=*) ;;
        -?*)
          _softamp_value "$verb" "${tokens[i]}"
          case $kind in
            '' | joined) ;;
            *) option=${tokens[i]} i=$((i + 1)) ;;
          esac
          ;;
        *) place=$((place + 1)) ;;
      esac
    done
    [ "$i" -gt "$last" ] || option=
    case $option$cursor in -*=*) [ -n "$option" ] || option=${cursor%%=*} cursor=${cursor#*=} ;; esac
    kind= words=
    if [ -z "$option" ] && [ "${cursor:0:1}" = - ]; then
      words=$(_softamp_options "$verb")
    else
      _softamp_value "$verb" "${option:-$place}"
    fi
  fi

  [ -z "$words" ] || COMPREPLY=($(compgen -W "$words" -- "$cursor"))
  case ${COMPREPLY[0]} in *=) compopt -o nospace 2>/dev/null ;; esac
  local IFS=$'\n'
  case $kind in
    file) COMPREPLY+=($(compgen -f -- "${cursor##*=}")) ;;
    directory) COMPREPLY+=($(compgen -d -- "${cursor##*=}")) ;;
    *) return ;;
  esac
  compopt -o filenames 2>/dev/null
}

complete -F _softamp softamp
)";

const char* name_of(const OptionText& option) {
  switch (option.kind) {
    case ValueKind::kNone: return "";
    case ValueKind::kFile: return "file";
    case ValueKind::kDirectory: return "directory";
    case ValueKind::kOther: break;
  }
  return option.joined ? "joined" : "other";
}

/// One branch for all options of a verb that take the same values.
std::string values_of(const VerbText& verb) {
  std::map<std::string, std::string> branches;  // what they take, and which do
  const auto add = [&](const OptionText& option, const std::string& pattern) {
    if (!option.has_value()) return;
    std::string& names =
        branches["kind=" + std::string(name_of(option)) +
                 (option.words.empty() ? "" : " words=" + quoted_for_shell(joined(option.words, " ")))];
    names += (names.empty() ? "" : " | ") + pattern;
  };
  for (const OptionText& option : verb.options) add(option, joined(option.names, " | "));
  int place = 0;
  for (const OptionText& positional : verb.positionals)
    add(positional, positional.repeatable ? "[0-9]*" : std::to_string(++place));
  std::string text;
  for (const auto& [values, names] : branches) text += "        " + names + ") " + values + " ;;\n";
  return text;
}

}  // namespace

std::string quoted_for_shell(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string bash_completion(const CommandLine& line) {
  std::vector<std::string> first, names;
  for (const VerbText& verb : line.verbs) first.push_back(verb.name);
  std::string options, values;
  for (const VerbText& verb : line.verbs) {
    names.clear();
    for (const OptionText& option : verb.options) names.insert(names.end(), option.names.begin(), option.names.end());
    options += "    " + verb.name + ") echo " + quoted_for_shell(joined(names, " ")) + " ;;\n";
    values += "    " + verb.name + ")\n      case $2 in\n" + values_of(verb) + "      esac\n      ;;\n";
  }
  for (const OptionText& option : line.program.options)
    first.insert(first.end(), option.names.begin(), option.names.end());
  std::string function = kFunction;
  const std::string verbs = "@VERBS@";
  function.replace(function.find(verbs), verbs.size(), quoted_for_shell(joined(first, " ")));
  return "# bash completion of softamp; made by `softamp completions bash`\n\n"
         "# The options of a verb.\n_softamp_options() {\n  case $1 in\n" +
         options +
         "  esac\n}\n\n# What an option of a verb, or the word at a place, takes: sets kind and words.\n"
         "_softamp_value() {\n  kind= words=\n  case $1 in\n" +
         values + "  esac\n}\n" + function;
}

}  // namespace softamp::program
