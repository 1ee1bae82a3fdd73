#include "src/data/npy_header.h"

#include <algorithm>
#include <cstdio>

#include "softamp/data/npy.h"

namespace softamp::npy {
namespace {

/// A cursor over the header's text; each function consumes what its name says, or throws.
class Cursor {
 public:
  Cursor(std::string_view text, uint64_t offset, std::string_view name) : text_(text), offset_(offset), name_(name) {}

  void skip_space() {
    while (at_ < text_.size() && std::string_view(" \t\r\n\f").find(text_[at_]) != std::string_view::npos) ++at_;
  }
  bool at_end() const { return at_ == text_.size(); }
  char peek() const { return at_end() ? '\0' : text_[at_]; }
  bool take(char c) {
    if (at_end() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c, const char* where) {
    if (!take(c)) refuse(std::string("expected '") + c + "' " + where);
  }

  /// A Python string without escapes.
  std::string string(const char* what) {
    const char quote = peek();
    if (quote != '\'' && quote != '"') refuse(std::string("expected ") + what + ", a string in quotes");
    const size_t from = ++at_;
    while (!at_end() && text_[at_] != quote && text_[at_] != '\\' && text_[at_] != '\n') ++at_;
    if (at_end() || text_[at_] != quote) refuse(std::string("the string of ") + what + " is not closed by its quote");
    return std::string(text_.substr(from, at_++ - from));
  }

  bool boolean() {
    for (const bool value : {false, true}) {
      const std::string_view word = value ? "True" : "False";
      if (text_.substr(at_, word.size()) == word) {
        at_ += word.size();
        return value;
      }
    }
    refuse("expected True or False for 'fortran_order'");
  }

  std::vector<uint64_t> tuple() {
    expect('(', "at the start of the shape");
    std::vector<uint64_t> values;
    for (;;) {
      skip_space();
      if (take(')')) return values;
      if (values.size() == kMaxRank) refuse("the shape has more than " + std::to_string(kMaxRank) + " extents");
      values.push_back(integer());
      skip_space();
      if (take(',')) continue;
      if (values.size() == 1) refuse("expected ',' after the only extent of the shape, as in (3,)");
      expect(')', "or ',' in the shape");
      return values;
    }
  }

  uint64_t integer() {
    const size_t from = at_;
    uint64_t value = 0;
    for (; peek() >= '0' && peek() <= '9'; ++at_) {
      const uint64_t digit = static_cast<uint64_t>(peek() - '0');
      if (value > (UINT64_MAX - digit) / 10) refuse("an extent of the shape exceeds 2^64 - 1");
      value = value * 10 + digit;
    }
    if (at_ == from) refuse("expected an extent of the shape, a decimal integer of at least 0");
    if (text_[from] == '0' && at_ - from > 1) refuse("an extent of the shape has a leading zero");
    return value;
  }

  [[noreturn]] void refuse(const std::string& message) const {
    fail(name_, offset_ + at_,
         message + (at_end() ? "; the header ends here" : "; found " + quoted(text_.substr(at_))));
  }

 private:
  std::string_view text_;
  uint64_t offset_;
  std::string_view name_;
  size_t at_ = 0;
};

}  // namespace

void fail(std::string_view name, uint64_t offset, const std::string& message) {
  throw Error(std::string(name) + ": byte " + std::to_string(offset) + ": " + message);
}

std::string quoted(std::string_view text) {
  constexpr size_t kShown = 40;
  std::string shown = "\"";
  for (const char c : text.substr(0, kShown)) {
    if (c >= ' ' && c <= '~') {
      shown += c;
      continue;
    }
    char escaped[5];
    std::snprintf(escaped, sizeof escaped, "\\x%02x", static_cast<unsigned>(static_cast<unsigned char>(c)));
    shown += escaped;
  }
  return shown + (text.size() > kShown ? "\"..." : "\"");
}

HeaderFields parse_dictionary(std::string_view text, uint64_t offset, std::string_view name) {
  Cursor at(text, offset, name);
  HeaderFields fields;
  constexpr std::string_view kKeys[] = {"descr", "fortran_order", "shape"};
  bool seen[3] = {};

  at.skip_space();
  at.expect('{', "at the start of the header");
  for (;;) {
    at.skip_space();
    if (at.take('}')) break;
    Cursor before = at;
    const std::string key = at.string("a key");
    const size_t which = static_cast<size_t>(std::find(std::begin(kKeys), std::end(kKeys), key) - std::begin(kKeys));
    if (which == 3) before.refuse("unknown key; expected 'descr', 'fortran_order' or 'shape'");
    if (seen[which]) before.refuse("the key '" + key + "' stands twice");
    seen[which] = true;
    at.skip_space();
    at.expect(':', "after the key");
    at.skip_space();
    if (which == 0) {
      if (at.peek() == '[') at.refuse("structured elements are not supported; expected one type such as '<f4'");
      fields.descr = at.string("the type ('descr')");
    } else if (which == 1) {
      fields.fortran_order = at.boolean();
    } else {
      fields.shape = at.tuple();
    }
    at.skip_space();
    if (at.take(',')) continue;
    at.expect('}', "or ',' after a value");
    break;
  }
  at.skip_space();
  if (!at.at_end()) at.refuse("expected only blanks after the dictionary");
  for (size_t k = 0; k < 3; ++k)
    if (!seen[k]) fail(name, offset, "the header has no key '" + std::string(kKeys[k]) + "'");
  return fields;
}

}  // namespace softamp::npy
