// A JSON text as a list of tokens with offsets, for readers whose errors all name line and column.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace softamp::precision_detail {

struct JsonToken {
  enum class Kind : unsigned char { kObject, kObjectEnd, kArray, kArrayEnd, kKey, kString, kOther };
  Kind kind;
  std::string text;   ///< of a key or a string, without escapes; of kOther: "3", "true", "null"
  size_t offset = 0;  ///< of its first byte in the text
};

/// Most tokens of a text, and lists and objects in each other.
inline constexpr size_t kMostTokens = 1'000'000;
inline constexpr int kDeepestTokens = 8;

/// Throws JsonError (read_json.h), "<place>: line l, column c: ...", if the text is not JSON, has more than
/// kMostWrittenBytes, or exceeds one of these limits.
std::vector<JsonToken> json_tokens(std::string_view text, const std::string& place);

/// For messages: "a list", "an object", "'text'", "3".
std::string described(const JsonToken& token);

}  // namespace softamp::precision_detail
