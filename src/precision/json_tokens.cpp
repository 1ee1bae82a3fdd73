#include "src/precision/json_tokens.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <stdexcept>

#include "src/graph/nearest_name.h"

namespace softamp::precision_detail {
namespace {

using Json = nlohmann::json;
using TokenKind = JsonToken::Kind;

/// The parser quotes the last bytes that it read, which may be anything.
std::string printable(std::string text, size_t most) {
  text.resize(std::min(most, text.size()));
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  return text;
}

[[noreturn]] void fail(const std::string& place, std::string_view text, size_t offset, const std::string& what) {
  throw std::invalid_argument(place + ": " + json_position(text, offset) + what);
}

bool blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

size_t skip_blanks(std::string_view text, size_t i) {
  while (i < text.size() && blank(text[i])) ++i;
  return i;
}

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

size_t begin_of(std::string_view text) { return text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0; }

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

/// Collects the parser's events, one per token.
class Collector : public nlohmann::json_sax<Json> {
 public:
  Collector(std::string_view text, const std::string& place, const JsonLimits& limits)
      : text_(text), place_(place), limits_(limits) {}

  std::vector<JsonToken> tokens;

  bool null() override { return add(TokenKind::kOther, "null"); }
  bool boolean(bool value) override { return add(TokenKind::kOther, value ? "true" : "false"); }
  bool number_integer(number_integer_t value) override { return add(TokenKind::kOther, std::to_string(value)); }
  bool number_unsigned(number_unsigned_t value) override { return add(TokenKind::kOther, std::to_string(value)); }
  bool number_float(number_float_t, const string_t& text) override { return add(TokenKind::kOther, text); }
  bool string(string_t& value) override { return add(TokenKind::kString, std::move(value)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(size_t) override { return open(TokenKind::kObject); }
  bool key(string_t& value) override { return add(TokenKind::kKey, std::move(value)); }
  bool end_object() override { return close(TokenKind::kObjectEnd); }
  bool start_array(size_t) override { return open(TokenKind::kArray); }
  bool end_array() override { return close(TokenKind::kArrayEnd); }

  bool parse_error(size_t byte, const std::string&, const Json::exception& error) override {
    const size_t at = byte > 0 ? byte - 1 : 0;
    if (const size_t quote = typographic_quote_before(text_, at); quote != std::string_view::npos)
      fail(place_, text_, quote,
           std::string(typographic_quote(text_, quote)) + " is a typographic quotation mark; expected \"");
    if (const size_t first = skip_blanks(text_, begin_of(text_)); first < text_.size() && text_[first] == '"')
      fail(place_, text_, first, "expected '{' before the first key");
    // The parser's own message begins with a code, and usually the place.
    std::string what = error.what();
    if (const size_t colon = what.find(": "); colon != std::string::npos)
      what = what.substr(colon + 2);
    else if (const size_t code = what.find("] "); code != std::string::npos)
      what = what.substr(code + 2);
    fail(place_, text_, std::min(at, text_.size()), printable(what, 200));
  }

 private:
  bool add(TokenKind kind, std::string value) {
    if (tokens.size() >= limits_.tokens)
      throw std::invalid_argument(place_ + ": more than " + std::to_string(limits_.tokens) + " words");
    tokens.push_back({kind, std::move(value), 0});
    return true;
  }
  bool open(TokenKind kind) {
    if (++depth_ > limits_.depth)
      throw std::invalid_argument(place_ + ": nested deeper than " + std::to_string(limits_.depth));
    return add(kind, {});
  }
  bool close(TokenKind kind) {
    --depth_;
    return add(kind, {});
  }

  std::string_view text_;
  const std::string& place_;
  const JsonLimits& limits_;
  size_t depth_ = 0;
};

/// Finds the offsets of the tokens: the text is known to be JSON, and its tokens come in the order of the events.
void place_tokens(std::string_view text, std::vector<JsonToken>& tokens) {
  size_t i = begin_of(text);
  for (JsonToken& token : tokens) {
    while (blank(text[i]) || text[i] == ',' || text[i] == ':') ++i;
    token.offset = i;
    if (text[i] == '"') {
      while (text[++i] != '"') i += text[i] == '\\';
      ++i;
    } else if (token.kind == TokenKind::kOther) {
      while (i < text.size() && std::string_view(",]}").find(text[i]) == std::string_view::npos && !blank(text[i])) ++i;
    } else {
      ++i;
    }
  }
}

}  // namespace

std::string json_position(std::string_view text, size_t offset) {
  const std::string_view before = text.substr(0, offset);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const size_t newline = before.rfind('\n');
  const size_t start = newline == std::string_view::npos ? std::min(begin_of(text), before.size()) : newline + 1;
  const auto column = 1 + std::count_if(before.begin() + static_cast<std::ptrdiff_t>(start), before.end(),
                                        [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; });
  return "line " + std::to_string(line) + ", column " + std::to_string(column) + ": ";
}

std::vector<JsonToken> json_tokens(std::string_view text, const std::string& place, const JsonLimits& limits) {
  if (text.size() > limits.bytes)
    throw std::invalid_argument(place + ": " + std::to_string(text.size()) + " bytes; expected at most " +
                                std::to_string(limits.bytes));
  Collector collector(text, place, limits);
  Json::sax_parse(text.begin(), text.end(), &collector);  // an error has thrown
  place_tokens(text, collector.tokens);
  return std::move(collector.tokens);
}

std::string described(const JsonToken& token) {
  switch (token.kind) {
    case TokenKind::kObject: return "an object";
    case TokenKind::kArray: return "a list";
    case TokenKind::kKey:
    case TokenKind::kString: return "'" + graph_detail::printable(token.text) + "'";
    case TokenKind::kObjectEnd: return "'}'";
    case TokenKind::kArrayEnd: return "the list's end";
    case TokenKind::kOther: break;
  }
  return graph_detail::printable(token.text);
}

}  // namespace softamp::precision_detail
