#include "softamp/report/names.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "src/report/edit_distance.h"
#include "src/report/lower_case.h"

namespace softamp {
namespace {

/// One thing and its names, ours first.
template <typename T>
struct Entry {
  T value;
  std::vector<std::string> names;
};

const std::vector<Entry<RoundingMode>> kModes = {
    {RoundingMode::kNearestEven, {"nearest", "nearest-even", "rne", "rn"}},
    {RoundingMode::kNearestAway, {"nearest-away", "rna"}},
    {RoundingMode::kTowardZero, {"zero", "toward-zero", "truncate", "rz"}},
    {RoundingMode::kUp, {"up", "ru"}},
    {RoundingMode::kDown, {"down", "rd"}},
    {RoundingMode::kStochastic, {"stochastic", "sr"}},
    {RoundingMode::kOdd, {"odd", "to-odd", "ro"}},
};
const std::vector<Entry<StochasticVariant>> kVariants = {
    {StochasticVariant::kCarry, {"carry", "srff"}}, {StochasticVariant::kHalf, {"half", "srf"}},
    {StochasticVariant::kRne, {"rne", "src"}},      {StochasticVariant::kOdd, {"odd"}},
    {StochasticVariant::kAtLeast, {"at-least"}},
};
const std::vector<Entry<Overflow>> kOverflows = {
    {Overflow::kInfinity, {"infinity", "inf"}},
    {Overflow::kSaturate, {"saturate"}},
    {Overflow::kNan, {"nan"}},
};
const std::vector<Entry<RandomEngine>> kEngines = {
    {RandomEngine::kPhilox, {"philox", "philox4x32-10"}},
    {RandomEngine::kPhilox7, {"philox7", "philox4x32-7"}},
    {RandomEngine::kXoroshiro128aox, {"xoroshiro128aox"}},
};
const std::vector<Entry<Preset>> kPresets = {{Preset::kIeee, {"ieee"}}, {Preset::kIpu, {"ipu"}}};

/// "fp16 (float16, half)"
std::string described(const std::vector<std::string>& names) {
  std::string text = names.front();
  for (size_t i = 1; i < names.size(); ++i) text += (i == 1 ? " (" : ", ") + names[i];
  return names.size() > 1 ? text + ")" : text;
}

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

template <typename T>
T value_from_name(const char* what, const std::vector<Entry<T>>& entries, std::string_view name) {
  const std::string wanted = lower_case(name);
  std::vector<std::string> known;
  for (const Entry<T>& entry : entries) {
    if (std::find(entry.names.begin(), entry.names.end(), wanted) != entry.names.end()) return entry.value;
    known.push_back(described(entry.names));
  }
  throw UnknownName(unknown_name_message(what, name, known));
}

template <typename T>
std::string name_from_value(const std::vector<Entry<T>>& entries, T value) {
  for (const Entry<T>& entry : entries)
    if (entry.value == value) return entry.names.front();
  throw std::logic_error("softamp: an enumerator without a name");
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
  std::string nearest, list;
  size_t least = 0;
  for (const std::string& entry : known) {
    list += (list.empty() ? "" : ", ") + entry;
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
  return "unknown " + std::string(what) + " '" + std::string(name) + "'" +
         (nearest.empty() ? "" : "; nearest: " + nearest) + "; known: " + list;
}

const std::vector<NamedFormat>& named_formats() {
  static const std::vector<NamedFormat> formats = {
      {kFp16, {"fp16", "float16", "half", "binary16"}, "IEEE 754"},
      {kBf16, {"bf16", "bfloat16"}, "bfloat16"},
      {kTf32, {"tf32", "tensorfloat32"}, "TensorFloat-32, 19-bit codes"},
      {kFp32, {"fp32", "float32", "float", "single", "binary32"}, "IEEE 754"},
      {kBinary64, {"fp64", "float64", "double", "binary64"}, "IEEE 754; for conversions only"},
      {kE4m3, {"e4m3", "float8_e4m3fn"}, "OCP OFP8"},
      {kE5m2, {"e5m2", "float8_e5m2"}, "OCP OFP8"},
      {kF143, {"f143", "float8_e4m3fnuz"}, "IPU quarter"},
      {kF152, {"f152", "float8_e5m2fnuz"}, "IPU quarter"},
  };
  return formats;
}

FloatFormat format_from_name(std::string_view name) {
  const std::string wanted = lower_case(name);
  if (const auto format = format_from_widths(wanted)) return *format;
  std::vector<Entry<FloatFormat>> entries;
  for (const NamedFormat& named : named_formats()) entries.push_back({named.format, named.names});
  try {
    return value_from_name("format", entries, name);
  } catch (const UnknownName& e) {
    throw UnknownName(std::string(e.what()) + ", or e<E>p<P> (E exponent bits, precision P): e5p11");
  }
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

RoundingMode rounding_from_name(std::string_view name) { return value_from_name("rounding", kModes, name); }
StochasticVariant variant_from_name(std::string_view name) { return value_from_name("variant", kVariants, name); }
Overflow overflow_from_name(std::string_view name) { return value_from_name("overflow rule", kOverflows, name); }
RandomEngine engine_from_name(std::string_view name) { return value_from_name("random engine", kEngines, name); }
Preset preset_from_name(std::string_view name) { return value_from_name("preset", kPresets, name); }

std::string name_of(RoundingMode mode) { return name_from_value(kModes, mode); }
std::string name_of(StochasticVariant variant) { return name_from_value(kVariants, variant); }
std::string name_of(Overflow overflow) { return name_from_value(kOverflows, overflow); }
std::string name_of(RandomEngine engine) { return name_from_value(kEngines, engine); }
std::string name_of(Preset preset) { return name_from_value(kPresets, preset); }

std::string flag_names(uint8_t flags) {
  static constexpr const char* kNames[kFlagCount] = {"inexact", "underflow", "overflow", "divide-by-zero", "invalid"};
  std::string text;
  for (int b = kFlagCount; b-- > 0;)
    if (flags >> b & 1) text += (text.empty() ? "" : ", ") + std::string(kNames[b]);
  return text.empty() ? "none" : text;
}

}  // namespace softamp
