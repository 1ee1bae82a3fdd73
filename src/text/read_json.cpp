#include "src/text/read_json.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <type_traits>
#include <utility>
#include <vector>

#include "src/text/json_tree.h"

namespace softamp {
namespace {

/// The first byte that is no blank.
size_t first_of_json(std::string_view text) {
  return std::min(text.find_first_not_of(" \t\r\n", begin_of_json(text)), text.size());
}

/// What the text or the parser says about it may be anything.
std::string shown(std::string text) {
  constexpr size_t kMost = 200;
  text.resize(std::min(kMost, text.size()));
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  return text;
}

/// A quotation mark of typography at this place: its bytes, else empty. U+2018 to U+201F, U+00AB, U+00BB, U+FF02.
std::string_view typographic_quote(std::string_view text, size_t i) {
  const std::string_view here = text.substr(std::min(i, text.size()));
  if (here.starts_with("\xe2\x80") && here.size() >= 3 && here[2] >= '\x98' && here[2] <= '\x9f')
    return here.substr(0, 3);
  if (here.starts_with("\xc2\xab") || here.starts_with("\xc2\xbb")) return here.substr(0, 2);
  if (here.starts_with("\xef\xbc\x82")) return here.substr(0, 3);
  return {};
}

/// The first such mark before `at` on the same line: if a text lacks its closing quote, the parser notices that only
/// later. npos: none.
size_t typographic_quote_before(std::string_view text, size_t at) {
  const size_t newline = at == 0 ? std::string_view::npos : text.rfind('\n', at - 1);
  for (size_t i = newline == std::string_view::npos ? 0 : newline + 1; i <= at && i < text.size(); ++i)
    if (!typographic_quote(text, i).empty()) return i;
  return std::string_view::npos;
}

/// A text's bytes for the parser, which does not say where it is: this iterator does.
class CountedByte {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountedByte(const char* at, const char** read) : at_(at), read_(read) {}
  const char& operator*() const { return *at_; }
  CountedByte& operator++() {
    *read_ = ++at_;
    return *this;
  }
  bool operator==(const CountedByte& other) const { return at_ == other.at_; }

 private:
  const char* at_;
  const char** read_;
};

/// Stands between the parser and what its parts are for.
class JsonGuard final : public JsonParts {
 public:
  JsonGuard(std::string_view text, const std::string& place, const JsonLimits& limits, JsonParts& parts,
            size_t first_line)
      : text_(text),
        place_(place.empty() ? "" : place + ": "),
        limits_(limits),
        parts_(parts),
        first_line_(first_line),
        read_(text.data()) {}

  void scan() {
    if (text_.size() > limits_.bytes)
      throw JsonError(place_ + std::to_string(text_.size()) + " bytes; expected at most " +
                      std::to_string(limits_.bytes));
    // The parser takes a byte 0 for the end, and would ignore the rest.
    if (const size_t zero = text_.find('\0'); zero != std::string_view::npos) refuse(zero, "a byte 0; expected text");
    // Of an empty text each version of the parser says something else.
    if (const size_t first = first_of_json(text_); first == text_.size())
      refuse(first,
             "expected a value: {, [, a text in quotes, a number, true, false or null, found the end of the text");
    const char* const end = text_.data() + text_.size();
    nlohmann::json::sax_parse(CountedByte(text_.data(), &read_), CountedByte(end, &read_), this);
  }

  bool null() override { return parts_.null(); }
  bool boolean(bool value) override { return parts_.boolean(value); }
  bool number_integer(number_integer_t value) override { return parts_.number_integer(value); }
  bool number_unsigned(number_unsigned_t value) override { return parts_.number_unsigned(value); }
  bool number_float(number_float_t value, const string_t& as_text) override {
    return parts_.number_float(value, as_text);
  }
  bool string(string_t& value) override { return parts_.string(value); }
  bool binary(binary_t& value) override { return parts_.binary(value); }
  bool start_object(size_t size) override {
    go_deeper();
    objects_.push_back({fields_.size(), {}});
    return parts_.start_object(size);
  }
  bool key(JsonParts::string_t& name) override {
    const size_t at = begin_of_string();
    if (const size_t before = add_field(name, at); before != at) {
      std::string first = json_position(text_, before, first_line_);
      first.resize(first.size() - 2);
      refuse(at, "the field '" + shown(name) + "' stands twice in an object; first at " + first);
    }
    return parts_.key(name);
  }
  bool end_object() override {
    fields_.resize(objects_.back().first);
    objects_.pop_back();
    --depth_;
    return parts_.end_object();
  }
  bool start_array(size_t size) override {
    go_deeper();
    return parts_.start_array(size);
  }
  bool end_array() override {
    --depth_;
    return parts_.end_array();
  }

  bool parse_error(size_t byte, const std::string& token, const nlohmann::json::exception& error) override {
    const size_t at = std::min(byte > 0 ? byte - 1 : 0, text_.size());
    constexpr int kNumberOverflow = 406;
    if (error.id == kNumberOverflow)
      refuse(at + 1 - std::min(token.size(), at + 1), "the number " + shown(token) + " is beyond binary64");
    if (const size_t quote = typographic_quote_before(text_, at); quote != std::string_view::npos)
      refuse(quote, std::string(typographic_quote(text_, quote)) + " is a typographic quotation mark; expected \"");
    if (const size_t first = first_of_json(text_);
        first < at && text_[first] == '"' && text_.substr(at).starts_with(':'))
      refuse(first, "expected '{' before the first key");
    // The parser's own message begins with a code and the place.
    std::string what = error.what();
    if (const size_t colon = what.find(": "); colon != std::string::npos) what = what.substr(colon + 2);
    refuse(at, shown(what));
  }

 private:
  [[noreturn]] void refuse(size_t offset, const std::string& what) const {
    throw JsonError(place_ + json_position(text_, offset, first_line_) + what);
  }
  /// After the last byte that was read.
  size_t read() const { return static_cast<size_t>(read_ - text_.data()); }

  /// The place of the object's field of this name: `at`, unless there was one before.
  size_t add_field(const std::string& name, size_t at) {
    Object& object = objects_.back();
    if (object.many.empty()) {
      for (size_t f = object.first; f < fields_.size(); ++f)
        if (fields_[f].first == name) return fields_[f].second;
      fields_.emplace_back(name, at);
      if (fields_.size() - object.first > kFewFields)
        object.many.insert(fields_.begin() + static_cast<std::ptrdiff_t>(object.first), fields_.end());
      return at;
    }
    return object.many.emplace(name, at).first->second;
  }

  void go_deeper() {
    if (depth_++ >= limits_.depth) refuse(read() - 1, "nested deeper than " + std::to_string(limits_.depth));
  }
  /// Of the string that has just been read: its opening quote, which no backslash precedes.
  size_t begin_of_string() const {
    size_t at = read() - 1;
    do --at;
    while (text_[at] != '"' || text_[at - 1] == '\\');
    return at;
  }

  std::string_view text_;
  std::string place_;
  const JsonLimits& limits_;
  JsonParts& parts_;
  size_t first_line_;
  const char* read_;
  int depth_ = 0;
  static constexpr size_t kFewFields = 16;
  struct Object {
    size_t first;                        ///< of its fields
    std::map<std::string, size_t> many;  ///< a tree: texts cannot be made to collide
  };
  std::vector<Object> objects_;                         ///< that are open
  std::vector<std::pair<std::string, size_t>> fields_;  ///< of all these, with their places, as long as one has few
};

/// Makes a value of parts, in linear time: the parser itself searches an ordered object for every field.
template <class Json>
class JsonTree final : public JsonTreeParts<Json> {
 public:
  bool key(JsonParts::string_t& name) override {
    auto& fields = open_.back()->template get_ref<typename Json::object_t&>();
    if constexpr (std::is_same_v<Json, nlohmann::ordered_json>)
      field_ = &fields.emplace_back(std::move(name), nullptr).second;  // no other field has this name
    else
      field_ = &fields[std::move(name)];
    return true;
  }
  bool parse_error(size_t, const std::string&, const nlohmann::json::exception&) override { return false; }

 private:
  Json* put(Json value) {
    if (open_.empty()) return &(this->root = std::move(value));
    if (!open_.back()->is_array()) return &(*field_ = std::move(value));
    auto& list = open_.back()->template get_ref<typename Json::array_t&>();
    return &list.emplace_back(std::move(value));
  }
  bool add(Json value) override {
    put(std::move(value));
    return true;
  }
  bool open(Json value) override {
    open_.push_back(put(std::move(value)));
    return true;
  }
  bool close() override {
    open_.pop_back();
    return true;
  }

  std::vector<Json*> open_;  ///< from the root down; only the last one grows, so the others stay where they are
  Json* field_ = nullptr;    ///< of the last object in open_, where the next value goes
};

}  // namespace

void scan_json(std::string_view text, const std::string& place, const JsonLimits& limits, JsonParts& parts,
               size_t first_line) {
  JsonGuard(text, place, limits, parts, first_line).scan();
}

template <class Json>
Json read_json(std::string_view text, const std::string& place, const JsonLimits& limits, size_t first_line) {
  JsonTree<Json> tree;
  scan_json(text, place, limits, tree, first_line);
  return std::move(tree.root);
}
template nlohmann::json read_json(std::string_view, const std::string&, const JsonLimits&, size_t);
template nlohmann::ordered_json read_json(std::string_view, const std::string&, const JsonLimits&, size_t);

}  // namespace softamp
