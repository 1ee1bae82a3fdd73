// The formats of IEEE P3109's interim report, Binary<K>p<P><s|u><e|f>, and its projection onto them (N463 to N465).
//
// They are not FloatFormats: there are unsigned ones, some have a precision of 1, and all have one NaN and no -0. Where
// both describe a format they agree: Binary8p4sf is f143, Binary8p3sf is f152.
#pragma once

#include "softamp/numerics/round.h"

#include <optional>
#include <string_view>

namespace softamp::p3109 {

/// width      (3 .. 16)  K, bits of a code
/// precision  (1 .. K - 1; unsigned: .. K)  P, significand bits with the hidden one
// implements: N463
struct Format {
  int width = 8;
  int precision = 4;
  bool has_sign = true;
  bool extended = true;  ///< has infinities: 'e'; 'f' has none

  constexpr bool operator==(const Format&) const = default;

  SOFTAMP_INLINE bool valid() const {
    return width >= 3 && width <= 16 && precision >= 1 && precision <= width - (has_sign ? 1 : 0);
  }
  SOFTAMP_INLINE uint64_t codes() const { return uint64_t{1} << width; }
  SOFTAMP_INLINE uint64_t sign_mask() const { return has_sign ? codes() / 2 : 0; }
  /// 2^(K-P-1) signed, 2^(K-P) unsigned.
  SOFTAMP_INLINE int bias() const { return 1 << (width - precision - (has_sign ? 1 : 0)); }
  SOFTAMP_INLINE int min_quantum() const { return 2 - precision - bias(); }

  SOFTAMP_INLINE uint64_t nan_code() const { return has_sign ? codes() / 2 : codes() - 1; }
  /// Only where `extended`.
  SOFTAMP_INLINE uint64_t infinity_code() const { return has_sign ? codes() / 2 - 1 : codes() - 2; }
  SOFTAMP_INLINE uint64_t max_finite_code() const {
    return (has_sign ? codes() / 2 - 1 : codes() - 2) - (extended ? 1 : 0);
  }
  SOFTAMP_INLINE bool is_nan(uint64_t code) const { return code == nan_code(); }
  SOFTAMP_INLINE bool is_infinity(uint64_t code) const {
    return extended && (code & ~sign_mask()) == infinity_code() && !is_nan(code);
  }
};

/// What happens to what is too large.
// implements: N464
enum class Saturation : uint8_t {
  kFinite,     ///< everything, infinities too, becomes the number at the end of the range.
  kPropagate,  ///< numbers do; infinities stay, where there are any.
  kNone,       ///< infinity, where there is one, but the last number under modes that round inward; unsigned, below
               ///< zero: NaN.
};

/// The value of a code that is neither NaN nor infinite.
// implements: N463
SOFTAMP_INLINE Exact exact(const Format& f, uint64_t code) {
  const uint64_t magnitude = code & ~f.sign_mask();
  const uint64_t field = magnitude >> (f.precision - 1), hidden = uint64_t{1} << (f.precision - 1);
  const uint64_t fraction = magnitude & (hidden - 1);
  if (field == 0) return {(code & f.sign_mask()) != 0, f.min_quantum(), fraction};
  return {(code & f.sign_mask()) != 0, f.min_quantum() + static_cast<int>(field) - 1, fraction | hidden};
}

namespace detail3109 {

SOFTAMP_INLINE uint64_t outermost(const Format& f, bool negative) {
  if (negative && !f.has_sign) return 0;
  return f.max_finite_code() | (negative ? f.sign_mask() : 0);
}

}  // namespace detail3109

/// An infinity projected onto `f`.
// implements: N464
SOFTAMP_INLINE uint64_t project_infinity(const Format& f, bool negative, Saturation saturation) {
  if (negative && !f.has_sign) return saturation == Saturation::kNone ? f.nan_code() : 0;
  if (!f.extended || saturation == Saturation::kFinite) return detail3109::outermost(f, negative);
  return f.infinity_code() | (negative ? f.sign_mask() : 0);
}

/// `x` rounded once to `f`: mode, random bits and variant of `p` (P3109's StochasticA, B, C are carry, half, rne), ties
/// to the even code, which for P = 1 is the report's rule as well; then saturated. A zero has no sign.
// implements: N464, N465
SOFTAMP_GENERAL uint64_t project(const Format& f, Exact x, const RoundingPolicy& p, Saturation saturation,
                                 uint32_t random = 0) {
  using namespace softamp::detail;
  if (x.significand == 0) return 0;
  const Signed n = normalised(parts(x));
  const int64_t normal = n.exponent - (f.precision - 1);
  const int64_t quantum = normal > f.min_quantum() ? normal : f.min_quantum();
  const int64_t lift = quantum - normal;
  const Split split = split_at(n.significand, static_cast<int>(64 - f.precision + (lift > 128 ? 128 : lift)));
  const int64_t binade = quantum - f.min_quantum();
  const bool negative = x.negative;
  const bool huge = binade > 1 << 20;
  const uint64_t floor = huge ? f.codes() : (static_cast<uint64_t>(binade) << (f.precision - 1)) + split.kept;
  const uint64_t magnitude = floor + (split.rest != 0 && rounds_up({floor, split.rest}, negative, p, random));
  if (magnitude == 0) return 0;
  if (negative && !f.has_sign) return saturation == Saturation::kNone ? f.nan_code() : 0;
  if (magnitude <= f.max_finite_code()) return magnitude | (negative ? f.sign_mask() : 0);
  const bool inward = p.mode == RoundingMode::kTowardZero || (p.mode == RoundingMode::kUp && negative) ||
                      (p.mode == RoundingMode::kDown && !negative);
  if (saturation != Saturation::kNone || inward) return detail3109::outermost(f, negative);
  return project_infinity(f, negative, saturation);
}

/// "Binary8p4se" or gfloat's "p3109_k8p4se", in lower or upper case as these; nothing for another word.
// implements: N463
constexpr std::optional<Format> format_from_name(std::string_view name) {
  for (const std::string_view head :
       {std::string_view("Binary"), std::string_view("binary"), std::string_view("p3109_k")})
    if (name.starts_with(head)) {
      name.remove_prefix(head.size());
      int numbers[2] = {0, 0};
      for (int& number : numbers) {
        size_t digits = 0;
        while (digits < name.size() && digits < 2 && name[digits] >= '0' && name[digits] <= '9')
          number = 10 * number + (name[digits++] - '0');
        if (digits == 0) return std::nullopt;
        name.remove_prefix(digits);
        if (&number == numbers) {
          if (!name.starts_with('p')) return std::nullopt;
          name.remove_prefix(1);
        }
      }
      if (name.size() != 2 || (name[0] != 's' && name[0] != 'u') || (name[1] != 'e' && name[1] != 'f'))
        return std::nullopt;
      const Format f{numbers[0], numbers[1], name[0] == 's', name[1] == 'e'};
      return f.valid() ? std::optional(f) : std::nullopt;
    }
  return std::nullopt;
}

}  // namespace softamp::p3109
