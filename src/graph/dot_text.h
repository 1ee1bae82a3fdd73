// Text in the language of Graphviz.
#pragma once

#include <string>

namespace softamp::graph_detail {

/// A string in DOT's quotes, where a backslash begins an escape: the text is unchanged except for its line ends.
inline std::string dot_quoted(const std::string& text) {
  std::string safe = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') safe += '\\';
    if (c == '\n')
      safe += "\\n";
    else
      safe += c;
  }
  return safe + "\"";
}

}  // namespace softamp::graph_detail
