// Text that is safe for any name: valid UTF-8, quoted, cut.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace softamp {

/// The bytes of text as UTF-8: invalid ones become U+FFFD.
std::string valid_utf8(std::string_view text);
/// On one line: control characters as \n, \t, \x01; valid UTF-8.
std::string one_line(std::string_view text);
/// At most `most` characters: the middle is replaced by "...".
std::string shortened(const std::string& text, size_t most);
std::string json_string(std::string_view text);

}  // namespace softamp
