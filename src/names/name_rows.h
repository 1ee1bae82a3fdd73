// The one list of names: whatever reads a word for a format, a dtype, a rounding, a chip or an accumulator reads it
// here (names/names.h, chips/chip_table.h, names/dtype.h, and through them every verb, settings and JSON).
//
// The first name of a row is ours: what is printed and written into files. It stays as it is: digests and files depend
// on it. The others are what the field writes. Words are compared as src/text/word.h has it.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "softamp/names/dtype.h"
#include "softamp/names/names.h"
#include "softamp/numerics/accumulator.h"
#include "softamp/numerics/chips.h"
#include "softamp/numerics/convert.h"
#include "softamp/numerics/format.h"
#include "softamp/numerics/rounding.h"
#include "softamp/numerics/semantics.h"
#include "src/text/word.h"

namespace softamp::name_rows {

/// A thing and its names, ours first; empty texts fill the rest.
using Names = std::array<std::string_view, 6>;
template <typename T>
struct Row {
  T value;
  Names names;
};

/// A format of numbers, and the dtype whose elements it is, where there is one.
struct FormatRow {
  FloatFormat value;
  Names names;
  std::string_view graph_def;  ///< TensorFlow's enumerator; read, but not listed
  std::string_view origin;     ///< whose format it is
  std::optional<DType> dtype;
};
inline constexpr FormatRow kFormats[] = {
    {kFp16, {"fp16", "float16", "half", "f16", "binary16"}, "DT_HALF", "IEEE 754", DType::kFloat16},
    {kBf16, {"bf16", "bfloat16"}, "DT_BFLOAT16", "bfloat16", DType::kBFloat16},
    {kTf32, {"tf32", "tensorfloat32"}, "", "TensorFloat-32, 19-bit codes", {}},
    {kFp32, {"fp32", "float32", "float", "f32", "single", "binary32"}, "DT_FLOAT", "IEEE 754", DType::kFloat32},
    {kBinary64,
     {"fp64", "float64", "double", "f64", "binary64"},
     "DT_DOUBLE",
     "IEEE 754; for conversions only",
     DType::kFloat64},
    {kE4m3, {"e4m3", "float8_e4m3fn", "fp8_e4m3"}, "DT_FLOAT8_E4M3FN", "OCP OFP8", {}},
    {kE5m2, {"e5m2", "float8_e5m2", "fp8_e5m2"}, "DT_FLOAT8_E5M2", "OCP OFP8", {}},
    {kF143, {"f143", "float8_e4m3fnuz"}, "", "IPU quarter", {}},
    {kF152, {"f152", "float8_e5m2fnuz"}, "", "IPU quarter", {}},
    {kE2m1, {"e2m1", "float4_e2m1fn", "fp4_e2m1", "fp4"}, "", "OCP MX", {}},
    {kE2m3, {"e2m3", "float6_e2m3fn", "fp6_e2m3"}, "", "OCP MX", {}},
    {kE3m2, {"e3m2", "float6_e3m2fn", "fp6_e3m2"}, "", "OCP MX", {}},
};

/// Dtypes without a format of ours.
inline constexpr Row<DType> kOtherDTypes[] = {
    {DType::kInt32, {"int32", "int", "DT_INT32"}}, {DType::kBool, {"bool", "DT_BOOL"}},
    {DType::kInt64, {"int64", "DT_INT64"}},        {DType::kUint8, {"uint8", "DT_UINT8"}},
    {DType::kString, {"string", "DT_STRING"}},
};

/// near_even, rnear_even and so on are SoftFloat's and TestFloat's.
inline constexpr Row<RoundingMode> kModes[] = {
    {RoundingMode::kNearestEven, {"nearest", "nearest-even", "rne", "rn", "near_even", "rnear_even"}},
    {RoundingMode::kNearestAway, {"nearest-away", "rna", "near_maxMag", "rnear_maxMag"}},
    {RoundingMode::kTowardZero, {"zero", "toward-zero", "truncate", "rz", "minMag", "rminMag"}},
    {RoundingMode::kUp, {"up", "ru", "max", "rmax"}},
    {RoundingMode::kDown, {"down", "rd", "min", "rmin"}},
    {RoundingMode::kStochastic, {"stochastic", "sr"}},
    {RoundingMode::kOdd, {"odd", "to-odd", "ro", "rodd"}},
};
inline constexpr Row<StochasticVariant> kVariants[] = {
    {StochasticVariant::kCarry, {"carry", "srff"}}, {StochasticVariant::kHalf, {"half", "srf"}},
    {StochasticVariant::kRne, {"rne", "src"}},      {StochasticVariant::kOdd, {"odd"}},
    {StochasticVariant::kAtLeast, {"at-least"}},
};
inline constexpr Row<Overflow> kOverflows[] = {
    {Overflow::kInfinity, {"infinity", "inf"}},
    {Overflow::kSaturate, {"saturate"}},
    {Overflow::kNan, {"nan"}},
};
/// In the order of the enumeration.
inline constexpr Row<CastProfile> kCasts[] = {
    {CastProfile::kOcp, {name_of(CastProfile::kOcp)}},
    {CastProfile::kOcpSaturate, {name_of(CastProfile::kOcpSaturate)}},
    {CastProfile::kOnnx, {name_of(CastProfile::kOnnx)}},
    {CastProfile::kOnnxSaturate, {name_of(CastProfile::kOnnxSaturate)}},
    {CastProfile::kMlDtypes, {name_of(CastProfile::kMlDtypes)}},
    {CastProfile::kNvidiaSatfinite, {name_of(CastProfile::kNvidiaSatfinite)}},
    {CastProfile::kAmd, {name_of(CastProfile::kAmd)}},
    {CastProfile::kAmdSaturate, {name_of(CastProfile::kAmdSaturate)}},
};
static_assert(std::size(kCasts) == softamp::kCastProfiles);
inline constexpr Row<Tininess> kTininess[] = {{Tininess::kAfterRounding, {"after"}},
                                              {Tininess::kBeforeRounding, {"before"}}};
inline constexpr Row<RandomEngine> kEngines[] = {
    {RandomEngine::kPhilox, {"philox", "philox4x32-10"}},
    {RandomEngine::kPhilox7, {"philox7", "philox4x32-7"}},
    {RandomEngine::kXoroshiro128aox, {"xoroshiro128aox"}},
};
/// Backends; "auto" is one of the others.
inline constexpr Names kBackends[] = {{"emu"}, {"cuda", "gpu"}, {"auto"}};
/// The flags of a FloatingPointBehaviour, and words for several of them.
inline constexpr Names kBehaviours[] = {{"inv"}, {"div0"}, {"oflo"}, {"esr"}, {"nanoo"}, {"all"}, {"off", "none"}};
inline constexpr Row<Preset> kPresets[] = {{Preset::kIeee, {"ieee"}}, {Preset::kIpu, {"ipu"}}};

inline constexpr Row<Chip> kChips[] = {
    {Chip::kIpu, {"ipu"}},
    {Chip::kNvidiaSm100, {"nvidia_sm100", "sm_100a", "b200"}},
    {Chip::kNvidiaSm103, {"nvidia_sm103", "sm_103a", "b300"}},
    {Chip::kAmdCdna3, {"amd_cdna3", "cdna3"}},
    {Chip::kAmdCdna4, {"amd_cdna4", "cdna4"}},
    {Chip::kIntelXe, {"intel_xe"}},
    {Chip::kTenstorrentWh, {"tenstorrent_wh", "wormhole"}},
    {Chip::kP3109Fastest, {"p3109_fastest"}},
    {Chip::kP3109Fast, {"p3109_fast"}},
    {Chip::kP3109Rne, {"p3109_rne"}},
    {Chip::kP3109Odd, {"p3109_odd"}},
    {Chip::kExact, {"exact"}},
};
static_assert(std::size(kChips) == kChipCount);

// implements: N478
inline constexpr Row<Accumulator> kAccumulators[] = {
    {Accumulator::kIpuModelA, {name_of(Accumulator::kIpuModelA), "ipu"}},
    {Accumulator::kFp32Chain, {name_of(Accumulator::kFp32Chain), "chain"}},
    {Accumulator::kTensorCoreVolta, {name_of(Accumulator::kTensorCoreVolta), "volta", "v100"}},
    {Accumulator::kTensorCoreTuring, {name_of(Accumulator::kTensorCoreTuring), "turing", "t4", "rtx20"}},
    {Accumulator::kTensorCoreAmpere, {name_of(Accumulator::kTensorCoreAmpere), "ampere", "a100", "a2", "rtx30"}},
    {Accumulator::kTensorCoreAda, {name_of(Accumulator::kTensorCoreAda), "ada", "l40", "l40s", "rtx40"}},
    {Accumulator::kTensorCoreHopper,
     {name_of(Accumulator::kTensorCoreHopper), "hopper", "h100", "h200", "hopper_wgmma"}},
    {Accumulator::kTensorCoreBlackwell,
     {name_of(Accumulator::kTensorCoreBlackwell), "blackwell", "b200", "rtx50", "blackwell_tcgen05"}},
    {Accumulator::kTensorCoreHopperMma,
     {name_of(Accumulator::kTensorCoreHopperMma), "hopper_mma", "h100_mma", "h200_mma"}},
    {Accumulator::kTensorCoreBlackwellMma,
     {name_of(Accumulator::kTensorCoreBlackwellMma), "blackwell_mma", "b200_mma"}},
};
static_assert(std::size(kAccumulators) == softamp::kAccumulators);

inline constexpr Row<AmpInner> kInners[] = {
    {AmpInner::kFmaChain, {name_of(AmpInner::kFmaChain)}},
    {AmpInner::kRn32Each, {name_of(AmpInner::kRn32Each)}},
    {AmpInner::kExactDot4, {name_of(AmpInner::kExactDot4)}},
};

/// In the order of the enumeration.
inline constexpr Row<TensorCoreOperands> kTensorCoreOperands[] = {
    {TensorCoreOperands::kOwn, {name_of(TensorCoreOperands::kOwn)}},
    {TensorCoreOperands::kAsFp16, {name_of(TensorCoreOperands::kAsFp16), "float16", "half", "f16"}},
    {TensorCoreOperands::kAsBf16, {name_of(TensorCoreOperands::kAsBf16), "bfloat16"}},
    {TensorCoreOperands::kAsE4m3, {name_of(TensorCoreOperands::kAsE4m3), "float8_e4m3fn", "fp8_e4m3"}},
    {TensorCoreOperands::kAsE5m2, {name_of(TensorCoreOperands::kAsE5m2), "float8_e5m2", "fp8_e5m2"}},
};
static_assert(std::size(kTensorCoreOperands) == softamp::kTensorCoreOperands);

constexpr bool has_name(const Names& names, std::string_view word) {
  for (const std::string_view name : names)
    if (!name.empty() && same_word(name, word)) return true;
  return false;
}
constexpr bool has_name(const FormatRow& row, std::string_view word) {
  return has_name(row.names, word) || (!row.graph_def.empty() && same_word(row.graph_def, word));
}

/// The row of that name; null for another word.
template <typename T, size_t n>
constexpr const Row<T>* find(const Row<T> (&rows)[n], std::string_view word) {
  for (const Row<T>& row : rows)
    if (has_name(row.names, word)) return &row;
  return nullptr;
}
constexpr const FormatRow* find_format(std::string_view word) {
  for (const FormatRow& row : kFormats)
    if (has_name(row, word)) return &row;
  return nullptr;
}

inline std::vector<std::string> first_names(std::span<const Names> list) {
  std::vector<std::string> all;
  for (const Names& names : list) all.emplace_back(names.front());
  return all;
}
/// The word as the list spells it; a word that the list does not have stays as it is.
inline std::string our_name(std::span<const Names> list, std::string_view word) {
  for (const Names& names : list)
    if (has_name(names, word)) return std::string(names.front());
  return std::string(word);
}
/// The same for each word of a text, between commas and blanks.
inline std::string our_names(std::span<const Names> list, std::string_view text) {
  std::string all;
  for (size_t at = 0; at <= text.size(); ++at) {
    const size_t end = std::min(text.find_first_of(", ", at), text.size());
    all += our_name(list, text.substr(at, end - at));
    if (end < text.size()) all += text[end];
    at = end;
  }
  return all;
}

/// "half" or "float" for a dtype's name that means it; another word stays as it is.
inline std::string our_partials(std::string_view word) {
  const auto dtype = parse_dtype(word);
  return dtype == DType::kFloat16 ? "half" : dtype == DType::kFloat32 ? "float" : std::string(word);
}

/// The names that a row has.
inline std::vector<std::string> words_of(const Names& names) {
  std::vector<std::string> words;
  for (const std::string_view name : names)
    if (!name.empty()) words.emplace_back(name);
  return words;
}

/// "fp16 (float16, half)", as messages list what is known.
inline std::string described(const Names& names) {
  std::string text;
  const std::vector<std::string> words = words_of(names);
  for (size_t i = 0; i < words.size(); ++i) text += (i == 0 ? "" : i == 1 ? " (" : ", ") + words[i];
  return words.size() > 1 ? text + ")" : text;
}
template <typename T, size_t n>
std::vector<std::string> all_described(const Row<T> (&rows)[n]) {
  std::vector<std::string> all;
  for (const Row<T>& row : rows) all.push_back(described(row.names));
  return all;
}

/// `what`: what the names name. Throws UnknownName.
template <typename T, size_t n>
T value_from_name(const char* what, const Row<T> (&rows)[n], std::string_view name) {
  if (const Row<T>* row = find(rows, name)) return row->value;
  throw UnknownName(unknown_name_message(what, name, all_described(rows)));
}

/// The same for a list of words; the word as the list spells it.
template <class Words>
std::string word_from_name(const char* what, const Words& words, std::string_view name) {
  if (const auto* const found = find_word(words, name)) return std::string(*found);
  throw UnknownName(unknown_name_message(what, name, {std::begin(words), std::end(words)}));
}

template <typename T, size_t n>
std::string name_from_value(const Row<T> (&rows)[n], T value) {
  for (const Row<T>& row : rows)
    if (row.value == value) return std::string(row.names.front());
  throw std::logic_error("softamp: an enumerator without a name");
}

}  // namespace softamp::name_rows
