// Operands that find bugs: uniform codes, and codes close to the places where rules change. Fixed seed, same
// everywhere.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>

#include "softamp/numerics/format.h"
#include "softamp/numerics/semantics.h"

namespace oracle {

using softamp::FloatFormat;

class Cases {
 public:
  explicit Cases(uint64_t seed) : engine_(seed) {}

  uint64_t word() { return engine_(); }
  uint64_t below(uint64_t n) { return engine_() % n; }

  /// A code of format f: a third uniform, a third within 3 codes of a landmark, a third with few significant bits.
  uint64_t code(const FloatFormat& f) {
    const uint64_t sign = engine_() & f.sign_mask();
    switch (below(3)) {
      case 0: return engine_() & f.code_mask();
      case 1: {
        const std::array<uint64_t, 6> landmarks = {0,
                                                   f.min_normal_code(),
                                                   f.max_finite_code(),
                                                   f.magnitude_mask(),
                                                   static_cast<uint64_t>(f.bias) << f.mantissa_bits(),
                                                   below(f.exponent_field_max() + 1) << f.mantissa_bits()};
        return ((landmarks[below(6)] + below(7) - 3) & f.magnitude_mask()) | sign;
      }
      default: {
        const uint64_t few = (engine_() & 3) << below(static_cast<uint64_t>(f.precision));
        const uint64_t field = below(f.exponent_field_max() + 1) << f.mantissa_bits();
        return (field | (few & f.mantissa_mask())) | sign;
      }
    }
  }

  /// A second operand that meets the first: half the time an exponent within `precision + 3` of the first's.
  uint64_t partner(const FloatFormat& f, uint64_t first) {
    if (below(2) == 0) return code(f);
    const auto reach = static_cast<int64_t>(f.precision) + 3;
    const auto field = static_cast<int64_t>((first & f.magnitude_mask()) >> f.mantissa_bits());
    const int64_t shifted = field + static_cast<int64_t>(below(static_cast<uint64_t>(2 * reach + 1))) - reach;
    const auto kept = static_cast<uint64_t>(
        std::min<int64_t>(std::max<int64_t>(shifted, 0), static_cast<int64_t>(f.exponent_field_max())));
    return (code(f) & (f.sign_mask() | f.mantissa_mask())) | kept << f.mantissa_bits();
  }

 private:
  std::mt19937_64 engine_;
};

struct NamedFormat {
  const char* name;
  FloatFormat format;
};
inline constexpr NamedFormat kNamedFormats[] = {
    {"fp16", softamp::kFp16}, {"bf16", softamp::kBf16}, {"tf32", softamp::kTf32}, {"fp32", softamp::kFp32},
    {"e4m3", softamp::kE4m3}, {"e5m2", softamp::kE5m2}, {"f143", softamp::kF143}, {"f152", softamp::kF152},
    {"e2m1", softamp::kE2m1}, {"e2m3", softamp::kE2m3}, {"e3m2", softamp::kE3m2}};

inline constexpr softamp::RoundingMode kDeterministicModes[] = {
    softamp::RoundingMode::kNearestEven, softamp::RoundingMode::kNearestAway, softamp::RoundingMode::kTowardZero,
    softamp::RoundingMode::kUp,          softamp::RoundingMode::kDown,        softamp::RoundingMode::kOdd};
inline constexpr softamp::StochasticVariant kVariants[] = {
    softamp::StochasticVariant::kCarry, softamp::StochasticVariant::kHalf, softamp::StochasticVariant::kRne,
    softamp::StochasticVariant::kOdd, softamp::StochasticVariant::kAtLeast};

/// A policy drawn from all of them: mode, bits, variant and alignment, overflow and its rule, tininess, subnormals, NaN
/// pattern, signs of zeros.
inline softamp::RoundingPolicy any_policy(Cases& cases) {
  softamp::RoundingPolicy p;
  p.mode = static_cast<softamp::RoundingMode>(cases.below(7));
  p.random_bits = static_cast<int>(1 + cases.below(32));
  p.variant = kVariants[cases.below(std::size(kVariants))];
  p.alignment = static_cast<softamp::RandomAlignment>(cases.below(2));
  p.overflow = static_cast<softamp::Overflow>(cases.below(3));
  p.overflow_rule = static_cast<softamp::OverflowRule>(cases.below(4));
  p.infinity = static_cast<softamp::InfinityResult>(cases.below(3));
  p.subnormals = static_cast<softamp::Subnormals>(cases.below(3));
  constexpr softamp::NanPattern kPatterns[] = {softamp::NanPattern::kQuiet, softamp::NanPattern::kNegativeQuiet,
                                               softamp::NanPattern::kAllOnes, softamp::NanPattern::kInfinity,
                                               softamp::NanPattern::kSigned};
  p.nan = kPatterns[cases.below(5)];
  p.signed_zeros = cases.below(3) != 0;
  p.tininess = static_cast<softamp::Tininess>(cases.below(2));
  return p;
}

inline std::string text_of(const softamp::RoundingPolicy& p) {
  return "mode " + std::to_string(static_cast<int>(p.mode)) + " bits " + std::to_string(p.random_bits) + " variant " +
         std::to_string(static_cast<int>(p.variant)) +
         (p.alignment == softamp::RandomAlignment::kAsIfNormal ? " as if normal" : "") +
         (p.signed_zeros ? "" : " unsigned zeros") + " overflow " + std::to_string(static_cast<int>(p.overflow)) +
         " rule " + std::to_string(static_cast<int>(p.overflow_rule)) + " infinity " +
         std::to_string(static_cast<int>(p.infinity)) + " subnormals " +
         std::to_string(static_cast<int>(p.subnormals)) + " nan " + std::to_string(static_cast<int>(p.nan)) +
         (p.tininess == softamp::Tininess::kBeforeRounding ? " tiny before" : "");
}

inline std::string hexadecimal(uint64_t value) {
  char text[20];
  std::snprintf(text, sizeof text, "%llx", static_cast<unsigned long long>(value));
  return text;
}

}  // namespace oracle
