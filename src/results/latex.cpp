#include "src/results/latex.h"

#include <cctype>
#include <string_view>

#include "src/results/cell_text.h"
#include "src/text/printable.h"

namespace softamp::results {
namespace {

std::string escaped(char c) {
  switch (c) {
    case '&':
    case '%':
    case '$':
    case '#':
    case '_':
    case '{':
    case '}': return std::string("\\") + c;
    case '\\': return "\\textbackslash{}";
    case '~': return "\\textasciitilde{}";
    case '^': return "\\textasciicircum{}";
    case '<': return "\\textless{}";
    case '>': return "\\textgreater{}";
    case '|': return "\\textbar{}";
    default: return std::string(1, c);
  }
}

/// How many characters from `at` on are digits, after a sign if there is one; 0 without a digit.
size_t whole_length(std::string_view text, size_t at) {
  size_t end = at;
  if (end < text.size() && (text[end] == '-' || text[end] == '+')) ++end;
  const size_t first = end;
  while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end]))) ++end;
  return end == first ? 0 : end - at;
}

/// "-1.5e-05" as "$-1.5\times10^{-5}$"; empty if the text is no number that needs that.
std::string number(std::string_view text) {
  size_t end = whole_length(text, 0);
  if (end == 0) return {};
  if (end < text.size() && text[end] == '.') {
    const size_t fraction = whole_length(text, end + 1);
    if (fraction == 0 || !std::isdigit(static_cast<unsigned char>(text[end + 1]))) return {};
    end += 1 + fraction;
  }
  const std::string mantissa(text.substr(0, end));
  if (end == text.size()) return text[0] == '-' || text[0] == '+' ? "$" + mantissa + "$" : std::string();
  if (text[end] != 'e' || end + 1 + whole_length(text, end + 1) != text.size() || end + 1 == text.size()) return {};
  return "$" + mantissa + "\\times10^{" + std::to_string(std::stoi(std::string(text.substr(end + 1)))) + "}$";
}

std::string cell(const std::string& raw) {
  const std::string text = files::printable(raw);
  if (text == "-") return "--";
  if (text == "inf") return "$\\infty$";
  if (text == "-inf") return "$-\\infty$";
  if (const std::string as_number = number(text); !as_number.empty()) return as_number;
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const size_t exponent = i > 0 && text[i] == '^' && std::isdigit(static_cast<unsigned char>(text[i - 1]))
                                ? whole_length(text, i + 1)
                                : 0;
    if (exponent == 0) {
      out += escaped(text[i]);
      continue;
    }
    size_t begin = out.size();
    while (begin > 0 && std::isdigit(static_cast<unsigned char>(out[begin - 1]))) --begin;
    out.insert(begin, "$");
    out += "^{" + text.substr(i + 1, exponent) + "}$";
    i += exponent;
  }
  return out;
}

}  // namespace

std::string latex(const Table& table) {
  std::string text = "% Needs \\usepackage{booktabs}\n";
  if (!table.title.empty()) text += "% " + files::printable(table.title) + '\n';
  text += "\\begin{tabular}{";
  for (const size_t c : shown_to_people(table.columns)) text += table.columns[c].right ? 'r' : 'l';
  text += "}\n\\toprule\n";
  const auto lines = lines_for_people(table);
  for (size_t l = 0; l < lines.size(); ++l) {
    for (size_t c = 0; c < lines[l].size(); ++c) text += (c ? " & " : "") + cell(lines[l][c]);
    text += " \\\\\n";
    if (l == 0) text += "\\midrule\n";
  }
  return text + "\\bottomrule\n\\end{tabular}\n";
}

}  // namespace softamp::results
