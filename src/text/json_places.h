// Where the parts of a JSON text stand: the parser gives them without their places.
#pragma once

#include <cstddef>
#include <string_view>

#include "src/text/read_json.h"

namespace softamp {

/// Gives the places one after the other, in the order of the parts (JsonParts): one for each value, key, brace and
/// bracket. The text is known to be JSON as far as the parser has given parts.
class JsonPlaces {
 public:
  explicit JsonPlaces(std::string_view text) : text_(text), at_(begin_of_json(text)) {}

  /// The offset of the next part's first byte.
  size_t next() {
    while (at_ < text_.size() && (blank(text_[at_]) || text_[at_] == ',' || text_[at_] == ':')) ++at_;
    const size_t begin = at_;
    if (begin == text_.size()) return begin;
    if (text_[at_] == '"') {
      while (text_[++at_] != '"') at_ += text_[at_] == '\\';
      ++at_;
    } else if (std::string_view("{}[]").find(text_[at_]) != std::string_view::npos) {
      ++at_;
    } else {
      while (at_ < text_.size() && !blank(text_[at_]) &&
             std::string_view(",]}").find(text_[at_]) == std::string_view::npos)
        ++at_;
    }
    return begin;
  }

 private:
  static bool blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

  std::string_view text_;
  size_t at_;
};

}  // namespace softamp
