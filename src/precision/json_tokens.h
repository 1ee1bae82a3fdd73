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

/// Limits of a text.
struct JsonLimits {
  size_t bytes = 4 << 20;
  size_t tokens = 1'000'000;
  size_t depth = 8;
};

/// "line 3, column 7: "; columns count characters, as editors do.
std::string json_position(std::string_view text, size_t offset);

/// Throws std::invalid_argument, "<place>: line l, column c: ...", if the text is not JSON or exceeds a limit. The most
/// common mistakes have clear messages: a typographic quotation mark, an object without its brace.
std::vector<JsonToken> json_tokens(std::string_view text, const std::string& place, const JsonLimits& limits = {});

/// For messages: "a list", "an object", "'text'", "3".
std::string described(const JsonToken& token);

}  // namespace softamp::precision_detail
