#include "src/precision/json_tokens.h"

#include <utility>

#include "src/text/json_places.h"
#include "src/text/printable.h"
#include "src/text/read_json.h"

namespace softamp::precision_detail {
namespace {

using TokenKind = JsonToken::Kind;

/// Collects the parser's events, one per token.
class Collector : public JsonParts {
 public:
  explicit Collector(const std::string& place) : place_(place) {}

  std::vector<JsonToken> tokens;

  bool null() override { return add(TokenKind::kOther, "null"); }
  bool boolean(bool value) override { return add(TokenKind::kOther, value ? "true" : "false"); }
  bool number_integer(number_integer_t value) override { return add(TokenKind::kOther, std::to_string(value)); }
  bool number_unsigned(number_unsigned_t value) override { return add(TokenKind::kOther, std::to_string(value)); }
  bool number_float(number_float_t, const string_t& text) override { return add(TokenKind::kOther, text); }
  bool string(string_t& value) override { return add(TokenKind::kString, std::move(value)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(size_t) override { return add(TokenKind::kObject, {}); }
  bool key(string_t& value) override { return add(TokenKind::kKey, std::move(value)); }
  bool end_object() override { return add(TokenKind::kObjectEnd, {}); }
  bool start_array(size_t) override { return add(TokenKind::kArray, {}); }
  bool end_array() override { return add(TokenKind::kArrayEnd, {}); }

  bool parse_error(size_t, const std::string&, const nlohmann::json::exception&) override { return false; }

 private:
  bool add(TokenKind kind, std::string value) {
    if (tokens.size() >= kMostTokens) throw JsonError(place_ + ": more than " + std::to_string(kMostTokens) + " words");
    tokens.push_back({kind, std::move(value), 0});
    return true;
  }

  const std::string& place_;
};

}  // namespace

std::vector<JsonToken> json_tokens(std::string_view text, const std::string& place) {
  Collector collector(place);
  scan_json(text, place, {kMostWrittenBytes, kDeepestTokens}, collector);
  JsonPlaces places(text);
  for (JsonToken& token : collector.tokens) token.offset = places.next();
  return std::move(collector.tokens);
}

std::string described(const JsonToken& token) {
  switch (token.kind) {
    case TokenKind::kObject: return "an object";
    case TokenKind::kArray: return "a list";
    case TokenKind::kKey:
    case TokenKind::kString: return "'" + files::excerpt(token.text) + "'";
    case TokenKind::kObjectEnd: return "'}'";
    case TokenKind::kArrayEnd: return "the list's end";
    case TokenKind::kOther: break;
  }
  return files::excerpt(token.text);
}

}  // namespace softamp::precision_detail
