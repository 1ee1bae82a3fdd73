// softamp man: the manual page softamp(1), in the macros of man(7), made from the description of the command line.
#include "src/program/description/command_line.h"
#include "src/program/program.h"
#include "src/text/joined.h"

#include <algorithm>
#include <cctype>
#include <iostream>
#include <sstream>

namespace softamp::program {
namespace {

/// Text as roff prints it, letter by letter: no escape, no request, and quotes and signs that can be copied into a
/// shell.
std::string roff(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    switch (c) {
      case '\\': safe += "\\e"; break;
      case '-': safe += "\\-"; break;
      case '\'': safe += "\\(aq"; break;
      case '`': safe += "\\(ga"; break;
      case '^': safe += "\\(ha"; break;
      case '~': safe += "\\(ti"; break;
      case '"': safe += "\\(dq"; break;
      default: safe += c;
    }
  }
  return !safe.empty() && safe.front() == '.' ? "\\&" + safe : safe;
}

std::string bold(const std::string& text) { return "\\fB" + roff(text) + "\\fR"; }
std::string italic(const std::string& text) { return "\\fI" + roff(text) + "\\fR"; }

/// "-o, --out FILE"; of a positional "GRAPH".
std::string heading_of(const OptionText& option) {
  if (option.name().front() != '-') return italic(option.name());
  const std::string text = joined(option.names, ", ", bold);
  if (!option.has_value()) return text;
  const std::string value = italic(option.value);
  return text + (option.joined ? "[=" + value + "]" : option.optional_value ? " [" + value + "]" : " " + value);
}

/// The description as a sentence of its own, and its default, "[=fp16]", as another.
std::string sentences_of(const OptionText& option) {
  const size_t at = option.description.rfind(" [=");
  const bool has_default = at != std::string::npos && option.description.find(']', at) != std::string::npos;
  std::string text = option.description.substr(0, has_default ? at : std::string::npos);
  if (!text.empty() && text.back() != '.') text += '.';
  if (has_default) {
    const size_t end = option.description.rfind(']');
    text += " Default: " + option.description.substr(at + 3, end - at - 3) + "." + option.description.substr(end + 1);
  }
  if (option.required) text += " Required.";
  if (!option.excludes.empty()) text += " Not together with " + joined(option.excludes) + ".";
  return text;
}

void print_options(std::ostream& out, const std::vector<OptionText>& options) {
  for (const OptionText& option : options)
    if (option.name() != "--help") out << ".TP\n" << heading_of(option) << '\n' << roff(sentences_of(option)) << '\n';
}

std::string synopsis_of(const VerbText& verb) {
  std::string text = ".B softamp " + roff(verb.name) + "\n[\\fIoptions\\fR]";
  for (const OptionText& p : verb.positionals) {
    const std::string value = italic(p.name()) + (p.repeatable ? "..." : "");
    text += p.required ? " " + value : " [" + value + "]";
  }
  return text + '\n';
}

/// Lines of a footer, as they are.
void print_lines(std::ostream& out, const std::string& footer) {
  if (footer.empty()) return;
  out << ".PP\n.nf\n";
  std::istringstream lines(footer);
  for (std::string line; std::getline(lines, line);) out << (line.empty() ? "\\&" : roff(line)) << '\n';
  out << ".fi\n";
}

/// The program's footer: a line "Title:" begins a section.
void print_sections(std::ostream& out, const std::string& footer) {
  std::istringstream lines(footer);
  bool open = false;
  for (std::string line; std::getline(lines, line);) {
    const bool title = line.size() > 1 && line.back() == ':' && line.front() != ' ';
    const bool indented = !line.empty() && line.front() == ' ';
    if (open && !indented) {
      out << ".fi\n";
      open = false;
    }
    if (title) {
      line.pop_back();
      std::transform(line.begin(), line.end(), line.begin(), [](unsigned char c) { return std::toupper(c); });
      out << ".SH " << roff(line) << "\n.nf\n";
      open = true;
    } else if (!line.empty()) {
      out << (open ? "" : ".PP\n") << roff(open ? line.substr(2) : line) << '\n';
    }
  }
  if (open) out << ".fi\n";
}

std::string man_page(const CommandLine& line) {
  std::ostringstream out;
  out << ".\\\" made by `softamp man`\n"
      << ".TH SOFTAMP 1 \"\" \"softamp " SOFTAMP_VERSION "\" \"User Commands\"\n"
      << ".nh\n.ad l\n"  // words and options stay whole, so that they can be found and copied
      << ".SH NAME\nsoftamp \\- " << roff(short_text(line.program.description)) << "\n.SH SYNOPSIS\n";
  for (const VerbText& verb : line.verbs) out << synopsis_of(verb) << ".br\n";
  out << ".B softamp \\-\\-version\n[\\fB\\-\\-json\\fR]\n.br\n"
      << ".B softamp\n[\\fIverb\\fR] \\fB\\-\\-help\\fR\n"
      << ".SH DESCRIPTION\n"
      << roff(line.program.description) << "\nEach verb has options of its own; \\fB\\-\\-help\\fR explains them.\n"
      << ".SH OPTIONS\n";
  print_options(out, line.program.options);
  out << ".SH VERBS\n";
  for (const VerbText& verb : line.verbs) {
    out << ".SS " << roff(verb.name) << '\n'
        << synopsis_of(verb) << ".PP\n"
        << roff(short_text(verb.description)) << ".\n";
    print_options(out, verb.positionals);
    print_options(out, verb.options);
    print_lines(out, verb.footer);
  }
  print_sections(out, line.program.footer);
  return out.str();
}

}  // namespace

Verb add_man(const cli::App& program) {
  cli::App app = program.add_subcommand("man", "Print the manual page softamp(1)");
  app.footer("`cmake --install` installs it.\n\nExample:\n  softamp man | man -l -");
  return {app, [program] {
            std::cout << man_page(command_line_of(program));
            return kSuccess;
          }};
}

}  // namespace softamp::program
