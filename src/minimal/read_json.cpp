// JSON texts (RFC 8259), for a build without nlohmann's library: compiled instead of src/text/read_json.cpp, with the
// same limits and the same values. Its words for what is no JSON are its own.
#include "src/text/read_json.h"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <map>
#include <vector>

#include "src/numbers/decimal_text.h"
#include "src/text/json_tree.h"
#include "src/text/utf8.h"

namespace softamp {
namespace {

class Reader {
 public:
  Reader(std::string_view text, const std::string& place, const JsonLimits& limits, JsonParts& parts, size_t first_line)
      : text_(text),
        place_(place.empty() ? "" : place + ": "),
        limits_(limits),
        parts_(parts),
        first_line_(first_line) {}

  void scan() {
    if (text_.size() > limits_.bytes)
      throw JsonError(place_ + std::to_string(text_.size()) + " bytes; expected at most " +
                      std::to_string(limits_.bytes));
    if (const size_t zero = text_.find('\0'); zero != std::string_view::npos) refuse(zero, "a byte 0; expected text");
    at_ = begin_of_json(text_);
    if (!value() && stopped_) return;
    blanks();
    if (at_ < text_.size()) refuse(at_, "expected the end of the text after the value, found " + found());
  }

 private:
  [[noreturn]] void refuse(size_t offset, const std::string& what) const {
    throw JsonError(place_ + json_position(text_, offset, first_line_) + what);
  }
  std::string found() const {
    if (at_ >= text_.size()) return "the end of the text";
    const auto [length, good] = utf8_character(text_, at_);
    return !good || static_cast<unsigned char>(text_[at_]) < 0x20 ? "another byte"
                                                                  : "'" + std::string(text_.substr(at_, length)) + "'";
  }
  [[noreturn]] void expected(const char* what) const {
    refuse(at_, "expected " + std::string(what) + ", found " + found());
  }

  void blanks() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) ++at_;
  }
  bool next_is(char c) {
    blanks();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool take(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  /// What a part of the receiver's answers; false ends all.
  bool go_on(bool more) {
    stopped_ = stopped_ || !more;
    return more;
  }

  bool value() {
    blanks();
    if (take("null")) return go_on(parts_.null());
    if (take("true")) return go_on(parts_.boolean(true));
    if (take("false")) return go_on(parts_.boolean(false));
    const char c = at_ < text_.size() ? text_[at_] : '\0';
    if (c == '{') return object();
    if (c == '[') return array();
    if (c == '-' || (c >= '0' && c <= '9')) return number();
    if (c != '"') expected("a value: {, [, a text in quotes, a number, true, false or null");
    std::string s = string();
    return go_on(parts_.string(s));
  }

  void go_deeper() {
    if (depth_++ >= limits_.depth) refuse(at_, "nested deeper than " + std::to_string(limits_.depth));
    ++at_;
  }

  bool object() {
    go_deeper();
    if (!go_on(parts_.start_object(static_cast<size_t>(-1)))) return false;
    std::map<std::string, size_t> fields;
    if (next_is('}')) return end_object();
    do
      if (!field(fields)) return false;
    while (next_is(','));
    if (!next_is('}')) expected("',' or '}'");
    return end_object();
  }
  bool field(std::map<std::string, size_t>& fields) {
    blanks();
    const size_t begin = at_;
    if (at_ >= text_.size() || text_[at_] != '"') expected("a key in quotes");
    std::string name = string();
    if (const auto [before, is_new] = fields.emplace(name, begin); !is_new) {
      std::string first = json_position(text_, before->second, first_line_);
      first.resize(first.size() - 2);
      refuse(begin, "the field '" + name + "' stands twice in an object; first at " + first);
    }
    if (!go_on(parts_.key(name))) return false;
    if (!next_is(':')) expected("':' after the key");
    return value();
  }
  bool end_object() {
    --depth_;
    return go_on(parts_.end_object());
  }

  bool array() {
    go_deeper();
    if (!go_on(parts_.start_array(static_cast<size_t>(-1)))) return false;
    if (!next_is(']')) {
      do
        if (!value()) return false;
      while (next_is(','));
      if (!next_is(']')) expected("',' or ']'");
    }
    --depth_;
    return go_on(parts_.end_array());
  }

  bool digit() const { return at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; }
  void digits() {
    if (!digit()) expected("a digit");
    while (digit()) ++at_;
  }

  bool number() {
    const size_t begin = at_;
    bool whole = true;
    if (text_[at_] == '-') ++at_;
    if (digit() && text_[at_] == '0')
      ++at_;
    else
      digits();
    if (at_ < text_.size() && text_[at_] == '.') {
      whole = false;
      ++at_;
      digits();
    }
    if (at_ < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E')) {
      whole = false;
      ++at_;
      if (at_ < text_.size() && (text_[at_] == '+' || text_[at_] == '-')) ++at_;
      digits();
    }
    const std::string s(text_.substr(begin, at_ - begin));
    const char* const end = s.data() + s.size();
    int64_t negative = 0;
    uint64_t positive = 0;
    if (whole && s[0] == '-' && std::from_chars(s.data(), end, negative).ec == std::errc{})
      return go_on(parts_.number_integer(negative));
    if (whole && s[0] != '-' && std::from_chars(s.data(), end, positive).ec == std::errc{})
      return go_on(parts_.number_unsigned(positive));
    double real = 0;
    if (read_double(s.data(), end, real).ec != std::errc{})
      real = std::strtod(s.c_str(), nullptr);  // tiny, or too large
    if (std::isinf(real)) refuse(begin, "the number " + s.substr(0, 200) + " is beyond binary64");
    return go_on(parts_.number_float(real, s));
  }

  uint32_t four_digits() {
    uint32_t code = 0;
    const std::string_view digits = text_.substr(at_, 4);
    const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
    if (digits.size() < 4 || end.ptr != digits.data() + 4) expected("four hexadecimal digits after \\u");
    at_ += 4;
    return code;
  }

  void escape(std::string& s) {
    constexpr std::string_view kNames = "\"\\/bfnrt", kMeant = "\"\\/\b\f\n\r\t";
    const size_t begin = at_++;
    const char c = at_ < text_.size() ? text_[at_] : '\0';
    if (const size_t i = kNames.find(c); c != '\0' && i != std::string_view::npos) {
      s += kMeant[i];
      ++at_;
      return;
    }
    if (c != 'u') refuse(begin, "expected one of \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\u");
    ++at_;
    uint32_t code = four_digits();
    if (code >= 0xD800 && code < 0xDC00) {
      if (!take("\\u")) expected("\\u and the second half of a surrogate pair");
      const uint32_t low = four_digits();
      if (low < 0xDC00 || low > 0xDFFF) refuse(begin, "expected a surrogate pair");
      code = 0x10000 + ((code & 0x3FF) << 10 | (low & 0x3FF));
    } else if (code >= 0xDC00 && code < 0xE000) {
      refuse(begin, "the second half of a surrogate pair stands alone");
    }
    append_utf8(s, code);
  }

  std::string string() {
    const size_t begin = at_++;
    std::string s;
    for (;;) {
      if (at_ >= text_.size()) refuse(begin, "expected the closing quote of this text");
      const char c = text_[at_];
      if (c == '"') break;
      if (c == '\\') {
        escape(s);
        continue;
      }
      if (static_cast<unsigned char>(c) < 0x20) expected("no control character in a text");
      const auto [length, good] = utf8_character(text_, at_);
      if (!good) refuse(at_, "a byte that is no UTF-8");
      s.append(text_.substr(at_, length));
      at_ += length;
    }
    ++at_;
    return s;
  }

  std::string_view text_;
  std::string place_;
  const JsonLimits& limits_;
  JsonParts& parts_;
  size_t first_line_, at_ = 0;
  int depth_ = 0;
  bool stopped_ = false;
};

/// Makes a value of parts.
class Tree final : public JsonTreeParts<minimal::Json> {
 public:
  using Json = minimal::Json;
  bool key(string_t& name) override {
    keys_.back() = std::move(name);
    return true;
  }
  bool parse_error(size_t, const std::string&, const minimal::JsonFault&) override { return false; }

 private:
  bool open(Json value) override {
    open_.push_back(std::move(value));
    keys_.emplace_back();
    return true;
  }
  bool close() override {
    Json value = std::move(open_.back());
    open_.pop_back();
    keys_.pop_back();
    return add(std::move(value));
  }
  bool add(Json value) override {
    if (open_.empty())
      root = std::move(value);
    else if (open_.back().is_array())
      open_.back().push_back(std::move(value));
    else
      open_.back().add_field(std::move(keys_.back()), std::move(value));
    return true;
  }

  std::vector<Json> open_;
  std::vector<std::string> keys_;  ///< of each that is open: where the next value goes
};

}  // namespace

void scan_json(std::string_view text, const std::string& place, const JsonLimits& limits, JsonParts& parts,
               size_t first_line) {
  Reader(text, place, limits, parts, first_line).scan();
}

template <class Json>
Json read_json(std::string_view text, const std::string& place, const JsonLimits& limits, size_t first_line) {
  Tree tree;
  scan_json(text, place, limits, tree, first_line);
  return std::move(tree.root);
}
template minimal::Json read_json(std::string_view, const std::string&, const JsonLimits&, size_t);

}  // namespace softamp
