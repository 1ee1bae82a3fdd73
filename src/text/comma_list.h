// Lists of words as options and settings write them: "inv,oflo".
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace softamp {

/// What stands before, between and after the commas, also where that is nothing: at least one part.
inline std::vector<std::string> split_at_commas(std::string_view text) {
  std::vector<std::string> parts(1);
  for (const char c : text)
    if (c == ',')
      parts.emplace_back();
    else
      parts.back() += c;
  return parts;
}

/// The words between commas and blanks: "inv, oflo," is two.
inline std::vector<std::string> words_of_list(std::string text) {
  for (char& c : text)
    if (c == ' ') c = ',';
  std::vector<std::string> words = split_at_commas(text);
  std::erase(words, "");
  return words;
}

}  // namespace softamp
