#include "src/text/shell_word.h"

#include <algorithm>
#include <cctype>

#include "src/text/printable.h"

namespace softamp {

std::string shell_word(std::string_view text) {
  const auto plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("_-+./,:=@%^").find(c) != std::string_view::npos;
  };
  // zsh expands =command at a word's beginning.
  if (!text.empty() && text[0] != '=' && std::all_of(text.begin(), text.end(), plain)) return std::string(text);
  if (files::printable(text) == text) {
    std::string word = "'";
    for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return word + "'";
  }
  std::string word = "$'";
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (plain(c) || c == ' ')
      word += c;
    else  // by octal numbers, which end after three digits
      word += {'\\', static_cast<char>('0' + code / 64), static_cast<char>('0' + code / 8 % 8),
               static_cast<char>('0' + code % 8)};
  }
  return word + "'";
}

}  // namespace softamp
