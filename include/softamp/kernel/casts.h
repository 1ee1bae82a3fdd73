// The body of Cast: one element from one dtype to another.
//
//   float -> float   rounded once by the target's policy; of equal formats a copy, which raises nothing
//   float -> int32   truncated, as a C cast does; NaN and out of range as `integer_range` says, and invalid (N55)
//   float -> bool    x != 0, a comparison: a NaN is true, and raises what it raises there
//   int32 -> float   rounded once; int32 -> bool  x != 0;  bool -> anything  0 or 1
#pragma once

#include "softamp/numerics/operations.h"

namespace softamp::kernel {

enum class Number : uint8_t { kFloat, kInt32, kBool };

/// The source or result of a conversion; the format counts only for kFloat.
struct CastEnd {
  Number number;
  FloatFormat format;
  constexpr bool operator==(const CastEnd&) const = default;
};

/// Whether the conversion may round, so that a stochastic policy of the target needs random bits.
// implements: N197
SOFTAMP_INLINE bool cast_rounds(const CastEnd& from, const CastEnd& to) {
  return to.number == Number::kFloat && from.number != Number::kBool && !(from == to) && to.format.exponent_bits != 11;
}

// implements: N197
SOFTAMP_INLINE Rounded cast(const CastEnd& from, const CastEnd& to, uint64_t code, const Semantics& s,
                            uint32_t random) {
  if (from.number == to.number && (from.number != Number::kFloat || from.format == to.format)) return {code, 0};
  if (from.number == Number::kFloat) {
    if (to.number == Number::kBool) {
      const fp::Compared zero = fp::equal(from.format, code, 0, s);
      return {static_cast<uint64_t>(!zero.value), zero.flags};
    }
    if (to.number == Number::kFloat) return fp::convert(from.format, to.format, code, s, random);
    Semantics truncating = s;
    truncating.wide.mode = RoundingMode::kTowardZero;
    return fp::to_int32(from.format, code, truncating);
  }
  const bool from_bool = from.number == Number::kBool;
  if (to.number == Number::kBool) return {static_cast<uint64_t>(code != 0), 0};
  if (to.number == Number::kInt32) return {static_cast<uint64_t>(code != 0), 0};
  const int32_t value = from_bool ? (code != 0 ? 1 : 0) : static_cast<int32_t>(static_cast<uint32_t>(code));
  return fp::from_int32(value, to.format, s, random);
}

}  // namespace softamp::kernel
