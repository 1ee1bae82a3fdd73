// RFC 4180, read by the letter.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace softamp::test {

/// The cells of each line. A line that does not end in LF alone fails the test.
inline std::vector<std::vector<std::string>> parse_csv(const std::string& text) {
  std::vector<std::vector<std::string>> lines;
  size_t at = 0;
  while (at < text.size()) {
    std::vector<std::string> cells;
    for (bool more = true; more;) {
      std::string cell;
      if (text[at] == '"') {
        for (++at; at < text.size() && (text[at] != '"' || text[at + 1] == '"'); ++at) {
          if (text[at] == '"') ++at;
          cell += text[at];
        }
        ++at;  // the closing quote
      } else {
        while (at < text.size() && text[at] != ',' && text[at] != '\r' && text[at] != '\n') cell += text[at++];
      }
      cells.push_back(cell);
      more = text[at] == ',';
      if (more) ++at;
    }
    EXPECT_EQ(text.substr(at, 1), "\n") << "line " << lines.size();
    ++at;
    lines.push_back(cells);
  }
  return lines;
}

}  // namespace softamp::test
