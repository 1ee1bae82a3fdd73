#include "softamp/names/names.h"

#include <charconv>
#include <optional>

#include "src/names/habits.h"
#include "src/names/name_rows.h"
#include "src/text/edit_distance.h"
#include "src/text/joined.h"
#include "src/text/lower_case.h"

namespace softamp {

using name_rows::name_from_value;
using name_rows::value_from_name;

namespace {

/// The names in "fp16 (float16, half)".
std::vector<std::string> split_described(const std::string& text) {
  std::vector<std::string> names(1);
  for (const char c : text) {
    if (c != ' ' && c != ',' && c != '(' && c != ')') {
      names.back() += c;
    } else if (!names.back().empty()) {
      names.emplace_back();
    }
  }
  return names;
}

/// Reads e<E>p<P>; empty if the word has another shape, an error if the numbers are out of range.
std::optional<FloatFormat> format_from_widths(const std::string& name) {
  const size_t p = name.find('p');
  if (name.size() < 4 || name[0] != 'e' || p == std::string::npos) return std::nullopt;
  const char* const end = name.data() + name.size();
  int exponent_bits = 0, precision = 0;
  const auto first = std::from_chars(name.data() + 1, end, exponent_bits);
  if (first.ec != std::errc{} || first.ptr != name.data() + p) return std::nullopt;
  const auto second = std::from_chars(first.ptr + 1, end, precision);
  if (second.ec != std::errc{} || second.ptr != end) return std::nullopt;
  if (exponent_bits < 2 || exponent_bits > 8 || precision < 2 || precision > 24)
    throw UnknownName("format '" + name +
                      "': expected e<E>p<P> with 2 to 8 exponent bits E and a precision P of 2 to "
                      "24 bits, hidden bit included");
  return FloatFormat::ieee(exponent_bits, precision);
}

/// Bits of a fixed-point format, the sign among them.
constexpr int kFewestFixedBits = 2, kMostFixedBits = 32;

FixedFormat fixed_format(int bits, int fraction) {
  const int64_t limit = int64_t{1} << (bits - 1);
  return {-fraction, -limit, limit - 1};
}

}  // namespace

std::string unknown_name_message(std::string_view what, std::string_view name, const std::vector<std::string>& known) {
  const std::string wanted = lower_case(name);
  std::string nearest;
  size_t least = 0;
  for (const std::string& entry : known) {
    for (const std::string& candidate : split_described(entry)) {
      if (candidate.empty()) continue;
      const std::string letters = lower_case(candidate);
      const size_t distance = edit_distance(wanted, letters, SwappedLetters::kOneEdit);
      if (is_near(wanted, letters, distance) && (nearest.empty() || distance < least)) {
        nearest = candidate;
        least = distance;
      }
    }
  }
  const std::string_view meant = meant_by_habit(what, name);
  return "unknown " + std::string(what) + " '" + std::string(name) + "'" +
         (!meant.empty()    ? "; expected " + std::string(meant)
          : nearest.empty() ? ""
                            : "; nearest: " + nearest) +
         "; known: " + joined(known);
}

const std::vector<NamedFormat>& named_formats() {
  static const std::vector<NamedFormat> formats = [] {
    std::vector<NamedFormat> all;
    for (const name_rows::FormatRow& row : name_rows::kFormats)
      all.push_back({row.value, name_rows::words_of(row.names), std::string(row.origin)});
    return all;
  }();
  return formats;
}

FloatFormat format_from_name(std::string_view name) {
  if (const auto format = format_from_widths(lower_case(name))) return *format;
  if (const name_rows::FormatRow* row = name_rows::find_format(name)) return row->value;
  std::vector<std::string> known;
  for (const name_rows::FormatRow& row : name_rows::kFormats) known.push_back(name_rows::described(row.names));
  throw UnknownName(unknown_name_message("format", name, known) +
                    ", or e<E>p<P> (E exponent bits, precision P): e5p11");
}

std::string format_name(const FloatFormat& format) {
  for (const NamedFormat& named : named_formats())
    if (named.format == format) return named.names.front();
  return "e" + std::to_string(format.exponent_bits) + "p" + std::to_string(format.precision);
}

FixedFormat fixed_format_from_name(std::string_view name) {
  const std::string word = lower_case(name);
  const char* const end = word.data() + word.size();
  // Only digits: from_chars would accept a sign.
  const bool digits =
      word.size() > 1 && word[0] == 'q' && word.find_first_not_of("0123456789.", 1) == std::string::npos;
  int integer = 0, fraction = 0;
  const auto first = std::from_chars(word.data() + (digits ? 1 : 0), end, integer);
  if (digits && first.ec == std::errc{} && first.ptr != end && *first.ptr == '.') {
    const auto second = std::from_chars(first.ptr + 1, end, fraction);
    if (second.ec == std::errc{} && second.ptr == end && integer <= kMostFixedBits && fraction <= kMostFixedBits &&
        integer + fraction >= kFewestFixedBits && integer + fraction <= kMostFixedBits)
      return fixed_format(integer + fraction, fraction);
  }
  throw UnknownName("fixed-point format '" + std::string(name) +
                    "': expected q<I>.<F> with I integer bits, the sign among them, and F bits after the point, 2 to "
                    "32 bits together: q2.14");
}

std::string name_of(const FixedFormat& format) {
  for (int bits = kFewestFixedBits; bits <= kMostFixedBits; ++bits) {
    const int fraction = -format.quantum_exponent;
    if (fraction < 0 || fraction > bits) continue;
    const FixedFormat named = fixed_format(bits, fraction);
    if (format.least == named.least && format.greatest == named.greatest)
      return "q" + std::to_string(bits - fraction) + "." + std::to_string(fraction);
  }
  throw std::invalid_argument("a fixed-point format of codes " + std::to_string(format.least) + " to " +
                              std::to_string(format.greatest) + " times 2^" + std::to_string(format.quantum_exponent) +
                              " has no name q<I>.<F>");
}

RoundingMode rounding_from_name(std::string_view name) { return value_from_name("rounding", name_rows::kModes, name); }
StochasticVariant variant_from_name(std::string_view name) {
  return value_from_name("variant", name_rows::kVariants, name);
}
Overflow overflow_from_name(std::string_view name) {
  return value_from_name("overflow rule", name_rows::kOverflows, name);
}
CastProfile cast_from_name(std::string_view name) { return value_from_name("cast", name_rows::kCasts, name); }
Tininess tininess_from_name(std::string_view name) { return value_from_name("tininess", name_rows::kTininess, name); }
RandomEngine engine_from_name(std::string_view name) {
  return value_from_name("random engine", name_rows::kEngines, name);
}
Preset preset_from_name(std::string_view name) { return value_from_name("preset", name_rows::kPresets, name); }
Accumulator accumulator_from_name(std::string_view name) {
  return value_from_name("accumulator", name_rows::kAccumulators, name);
}

TensorCoreOperands tensor_core_operands_from_name(std::string_view name) {
  return value_from_name("operands", name_rows::kTensorCoreOperands, name);
}

std::string name_of(RoundingMode mode) { return name_from_value(name_rows::kModes, mode); }
std::string name_of(StochasticVariant variant) { return name_from_value(name_rows::kVariants, variant); }
std::string name_of(Overflow overflow) { return name_from_value(name_rows::kOverflows, overflow); }
std::string name_of(Tininess tininess) { return name_from_value(name_rows::kTininess, tininess); }
std::string name_of(RandomEngine engine) { return name_from_value(name_rows::kEngines, engine); }
std::string name_of(Preset preset) { return name_from_value(name_rows::kPresets, preset); }

std::string flag_names(uint8_t flags) {
  static constexpr const char* kNames[kFlagCount] = {"inexact", "underflow", "overflow", "divide-by-zero", "invalid"};
  std::string text;
  for (int b = kFlagCount; b-- > 0;)
    if (flags >> b & 1) text += (text.empty() ? "" : ", ") + std::string(kNames[b]);
  return text.empty() ? "none" : text;
}

}  // namespace softamp
