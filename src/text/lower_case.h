// Words without regard to case, in any locale.
#pragma once

#include <string>
#include <string_view>

namespace softamp {

/// The text with A to Z as a to z; all other bytes unchanged.
inline std::string lower_case(std::string_view text) {
  std::string word(text);
  for (char& c : word)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return word;
}

}  // namespace softamp
