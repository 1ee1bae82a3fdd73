// Text that is safe for any name: valid UTF-8, quoted, cut, in columns.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace softamp {

/// The bytes of text as UTF-8: invalid ones become U+FFFD.
std::string valid_utf8(std::string_view text);
/// On one line: control characters as \n, \t, \x01; valid UTF-8.
std::string one_line(std::string_view text);
/// How many characters (code points) a valid text has.
size_t characters(std::string_view text);
/// At most `most` characters: the middle is replaced by "...".
std::string shortened(const std::string& text, size_t most);
std::string json_string(std::string_view text);

/// Lines of cells in aligned columns, two spaces apart. Cells wider than `widest` may exceed their column, so that the
/// others are not moved to the right; trailing space is left out.
///   lines   how many
///   cells the cells of a line; called twice for each line, so that not all cells are kept in memory
///   right which columns are aligned right (numbers)
std::string aligned(size_t lines, const std::function<std::vector<std::string>(size_t line)>& cells,
                    const std::vector<size_t>& right, size_t widest = 60);

}  // namespace softamp
