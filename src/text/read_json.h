// JSON texts, which we do not trust: the one place where they are parsed. Each refusal is a sentence that says where.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace softamp {

/// A text is no JSON, or exceeds a limit: "run.json: line 3, column 7: nested deeper than 64".
class JsonError : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

/// What a text may have. Without a limit on nesting, all that walks down a tree (copying, comparing, writing) could be
/// made to overflow the stack.
struct JsonLimits {
  size_t bytes = size_t{1} << 28;
  int depth = 64;  ///< lists and objects in each other
};

/// Of what people write: settings, configurations, studies, recipes.
inline constexpr size_t kMostWrittenBytes = size_t{4} << 20;

/// After a byte order mark, which is no part of the text.
inline size_t begin_of_json(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  return text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
}

/// "line 3, column 7: " of an offset; columns count characters, as editors do. first_line: the number of the text's
/// first line.
inline std::string json_position(std::string_view text, size_t offset, size_t first_line = 1) {
  const std::string_view before = text.substr(0, offset);
  const auto line = first_line + static_cast<size_t>(std::count(before.begin(), before.end(), '\n'));
  const size_t newline = before.rfind('\n');
  const size_t start = newline == std::string_view::npos ? std::min(begin_of_json(text), before.size()) : newline + 1;
  const auto column = 1 + std::count_if(before.begin() + static_cast<std::ptrdiff_t>(start), before.end(),
                                        [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; });
  return "line " + std::to_string(line) + ", column " + std::to_string(column) + ": ";
}

/// The parts of a text in their order. parse_error is not called: scan_json throws.
using JsonParts = nlohmann::json_sax<nlohmann::json>;

/// Gives the parts of `text` to `parts`. Throws JsonError that begins with `place`, unless
/// that is empty: no JSON, a byte 0, a number beyond
/// binary64, a field twice in an object, or more than the limits allow. The most common mistakes have clear messages: a
/// typographic quotation mark, an object without its brace.
void scan_json(std::string_view text, const std::string& place, const JsonLimits& limits, JsonParts& parts,
               size_t first_line = 1);

/// The whole text. Json: nlohmann::json, or nlohmann::ordered_json. Throws JsonError as scan_json.
template <class Json = nlohmann::ordered_json>
Json read_json(std::string_view text, const std::string& place = "JSON", const JsonLimits& limits = {},
               size_t first_line = 1);

/// The same; a discarded value for a text that is no JSON or exceeds a limit.
template <class Json = nlohmann::ordered_json>
Json read_json_or_discard(std::string_view text, const JsonLimits& limits = {}) {
  try {
    return read_json<Json>(text, "JSON", limits);
  } catch (const JsonError&) {
    return Json(Json::value_t::discarded);
  }
}

/// The value as a whole number in least..most; none for all else: another kind of value, a number with a point or an
/// exponent, one beyond the range. nlohmann's own conversion takes any number for any other: 2^63 becomes negative, and
/// what becomes of 1e300 is undefined. So whole numbers are read by this function alone.
template <class T, class Json>
std::optional<T> whole_number_in(const Json& value, T least = std::numeric_limits<T>::min(),
                                 T most = std::numeric_limits<T>::max()) {
  const auto within = [&](auto number) -> std::optional<T> {
    if (std::cmp_less(number, least) || std::cmp_greater(number, most)) return std::nullopt;
    return static_cast<T>(number);
  };
  if (!value.is_number_integer()) return std::nullopt;
  if (value.is_number_unsigned()) return within(value.template get<uint64_t>());
  return within(value.template get<int64_t>());
}

}  // namespace softamp
