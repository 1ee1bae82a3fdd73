// Tables of text: cells in columns.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace softamp {

/// How many characters (code points) a valid text of UTF-8 has.
inline size_t characters(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

/// Lines of cells in aligned columns, two spaces apart; trailing space is left out.
///   lines   how many
///   cells   the cells of a line; called twice for each line, so that not all cells need be kept in memory
///   right   which columns are aligned right (numbers)
///   widest  cells wider than this may exceed their column, so that the others are not moved to the right [=none may]
template <class Cells>
std::string in_columns(size_t lines, const Cells& cells, const std::vector<size_t>& right,
                       size_t widest = std::numeric_limits<size_t>::max()) {
  std::vector<size_t> widths;
  for (size_t l = 0; l < lines; ++l) {
    const std::vector<std::string>& line = cells(l);
    widths.resize(std::max(widths.size(), line.size()));
    for (size_t c = 0; c < line.size(); ++c) widths[c] = std::max(widths[c], std::min(characters(line[c]), widest));
  }
  std::string all;
  for (size_t l = 0; l < lines; ++l) {
    const std::vector<std::string>& line = cells(l);
    for (size_t c = 0; c < line.size(); ++c) {
      const size_t width = characters(line[c]);
      const std::string space(width < widths[c] ? widths[c] - width : 0, ' ');
      const bool to_right = std::find(right.begin(), right.end(), c) != right.end();
      all += (c ? "  " : "") + (to_right ? space + line[c] : line[c] + space);
    }
    all.erase(all.find_last_not_of(' ') + 1);
    all += '\n';
  }
  return all;
}
inline std::string in_columns(const std::vector<std::vector<std::string>>& lines, const std::vector<size_t>& right = {},
                              size_t widest = std::numeric_limits<size_t>::max()) {
  return in_columns(
      lines.size(), [&](size_t l) -> const std::vector<std::string>& { return lines[l]; }, right, widest);
}

}  // namespace softamp
