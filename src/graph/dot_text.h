// Text in the language of Graphviz.
#pragma once

#include <string>

#include "src/text/printable.h"

namespace softamp::graph_detail {

/// A string in DOT's quotes, where a backslash begins an escape: the text is unchanged except for its line ends, and
/// what no picture can show, "\x1b".
inline std::string dot_quoted(const std::string& text) {
  std::string safe = "\"";
  for (const char c : files::printable(text, true)) {
    if (c == '"' || c == '\\') safe += '\\';
    if (c == '\n')
      safe += "\\n";
    else
      safe += c;
  }
  return safe + "\"";
}

}  // namespace softamp::graph_detail
