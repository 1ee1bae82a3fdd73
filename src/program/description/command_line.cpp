#include "src/program/description/command_line.h"

#include "src/program/description/words.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <string_view>

namespace softamp::program {
namespace {

ValueKind kind_of(const std::string& value) {
  if (value == "DIR") return ValueKind::kDirectory;
  const std::string_view text = value;
  return text.ends_with("FILE") || text.ends_with(".npy") ? ValueKind::kFile : ValueKind::kOther;
}

OptionText option_text(CLI::Option& option) {
  OptionText text;
  for (const std::string& name : option.get_snames()) text.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) text.names.push_back("--" + name);
  if (text.names.empty()) text.names.push_back(option.get_name(true));
  text.description = option.get_description();
  text.words = offered(cli::Option(&option));
  text.required = option.get_required();
  const bool flag = option.get_expected_max() == 0;  // of a flag with a value it is 0, too
  text.joined = flag && !text.words.empty();
  text.optional_value = text.joined || (option.get_expected_min() == 0 && !flag);
  if (!flag || text.joined) {
    text.value = option.get_type_name();
    if (text.value.empty() || text.value.front() == '=' || text.value == "BOOLEAN") text.value = "WORD";
    if (text.value == "TEXT" && !option.nonpositional()) text.value = text.name();
    text.kind = kind_of(text.value);
    text.repeatable = option.get_items_expected_max() > 1;
  }
  for (const CLI::Option* other : option.get_excludes()) text.excludes.push_back(other->get_name());
  std::sort(text.excludes.begin(), text.excludes.end());  // they come in the order of addresses
  return text;
}

VerbText verb_text(CLI::App& app) {
  VerbText text{app.get_name(), app.get_description(), {}, {}, app.get_footer()};
  for (CLI::Option* const option : app.get_options())
    (option->nonpositional() ? text.options : text.positionals).push_back(option_text(*option));
  return text;
}

}  // namespace

CommandLine command_line_of(const cli::App& program) {
  CommandLine all{verb_text(*program.get()), {}};
  for (CLI::App* const verb : program.get()->get_subcommands([](const CLI::App*) { return true; }))
    all.verbs.push_back(verb_text(*verb));
  return all;
}

std::string short_text(const std::string& description) {
  std::string text = description.substr(0, std::min(description.find(" [="), description.find("; ")));
  while (!text.empty() && (text.back() == '.' || text.back() == ' ')) text.pop_back();
  return text;
}

std::string with_backslashes(const std::string& text, const std::string& special) {
  std::string safe;
  for (const char c : text) {
    if (special.find(c) != std::string::npos) safe += '\\';
    safe += c;
  }
  return safe;
}

}  // namespace softamp::program
