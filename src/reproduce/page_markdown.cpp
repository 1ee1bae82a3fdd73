#include <sstream>

#include "src/reproduce/outcome_text.h"
#include "src/reproduce/page.h"

namespace softamp::reproduce {
namespace {

constexpr const char* kMarkdownHead = R"(# Published experiments, reproduced

This page was written by `softamp reproduce all --out DIR --markdown docs/REPRODUCED.md`; the pictures, every number and
the settings are on the page DIR/index.html that the same run makes. Each experiment runs its arithmetic on the emulated
unit, operation by operation; where its set-up differs from the publication's, the section says how. The emulated
arithmetic gives the same bits on any machine; reference values come from the machine's own mathematical functions, whose
last digits may differ.

*Against* says what a result is compared with. **Figure**: a figure that the publication prints, to the last digit.
**Bound**: a figure, bound or interval that follows from the set-up, by theory or by an independent computation
(statistical ones from the variance, with a fixed seed). **Shape**: a shape that the publication describes in words.
**Recorded**: nothing was published to compare with.

)";

/// A cell of a Markdown table: the bar would end it, and angle brackets would be HTML.
std::string markdown_cell(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '|' || c == '*' || c == '_' || c == '`' || c == '<' || c == '\\') result += '\\';
    result += c == '\n' ? ' ' : c;
  }
  return result.empty() ? "-" : result;
}

/// A paragraph as text: no mark of Markdown in it, nor at the beginning of one of its lines.
std::string paragraph(const std::string& text) {
  std::istringstream lines(wrapped(markdown_cell(text), 118));
  std::string result;
  for (std::string line; std::getline(lines, line);)
    result += (line.find_first_of("-+#>=") == 0 ? "\\" : "") + line + "\n";
  return result;
}

std::string row(const std::vector<std::string>& cells) {
  std::string text = "|";
  for (const std::string& c : cells) text += " " + c + " |";
  return text + "\n";
}

std::string command_of(const Result& r) { return "`" + r.command + "`"; }

std::string section(const Result& r) {
  std::string text = "## " + r.name + "\n\n" + paragraph(r.summary) + "\nSource: " + markdown_cell(r.source) +
                     "  \nCommand: " + command_of(r) + "\n\n";
  const Outcome& o = r.outcome;
  if (!r.failed.empty()) return text + "Failed: " + markdown_cell(r.failed) + "\n\n";
  if (!o.skipped.empty()) return text + "Skipped: " + markdown_cell(o.skipped) + "\n\n";
  if (!o.seen.empty()) text += paragraph(o.seen) + "\n";
  if (!o.deviations.empty()) text += paragraph("Not as published: " + o.deviations) + "\n";
  if (o.checks.empty()) return text;
  text += row({"what", "ours", "published or derived", "against", "verdict"}) + "|---|---|---|---|---|\n";
  for (const Check& c : o.checks)
    text += row({markdown_cell(c.what), markdown_cell(c.ours), markdown_cell(c.theirs), std::string(name_of(c.against)),
                 verdict(c)});
  return text + "\n";
}

}  // namespace

std::string page_markdown(const std::vector<Result>& results) {
  std::string text = kMarkdownHead;
  text += row({"experiment", "checks that agree", "command"}) + "|---|---|---|\n";
  for (const Result& r : results) text += row({"[" + r.name + "](#" + r.name + ")", agreement_text(r), command_of(r)});
  text += "\n";
  for (const Result& r : results) text += section(r);
  text.pop_back();
  return text;
}

}  // namespace softamp::reproduce
