// Comparisons, minimum and maximum, and the classes of values.
#pragma once

#include "softamp/numerics/operand.h"

namespace softamp::fp {

/// A truth value and the flags that finding it raised.
struct Compared {
  bool value;
  uint8_t flags;
};

namespace detail {
using namespace softamp::detail;

/// An integer that orders values like the numbers; -0 and +0 are equal. Not for NaNs.
SOFTAMP_INLINE int64_t order_key(const FloatFormat& f, uint64_t code, const Semantics& s) {
  uint64_t magnitude = code & f.magnitude_mask();
  const bool narrow = f.storage_bits() <= 16;
  if (narrow && f.is_infinity(code) && s.narrow_infinity == InfinityOperand::kMaxFinite)
    magnitude = f.max_finite_code();
  if (is_wide(f) && s.wide_operands_flushed && magnitude < f.min_normal_code()) magnitude = 0;
  return (code & f.sign_mask()) != 0 ? -static_cast<int64_t>(magnitude) : static_cast<int64_t>(magnitude);
}

enum class Relation : uint8_t { kLess, kEqual, kGreater, kUnordered };

struct Related {
  Relation relation;
  uint8_t flags;
};

// implements: N33, N196
SOFTAMP_GENERAL Related relate(const FloatFormat& f, uint64_t a, uint64_t b, const Semantics& s, bool signaling) {
  const bool a_nan = unpack(f, a, s).nan(), b_nan = unpack(f, b, s).nan();
  if (a_nan || b_nan) {
    uint8_t flags = signaling ? kInvalid : 0;
    if (a_nan) flags = static_cast<uint8_t>(flags | nan_flags(f, a, s));
    if (b_nan) flags = static_cast<uint8_t>(flags | nan_flags(f, b, s));
    return {Relation::kUnordered, flags};
  }
  const int64_t x = order_key(f, a, s), y = order_key(f, b, s);
  return {x < y ? Relation::kLess : x == y ? Relation::kEqual : Relation::kGreater, 0};
}

// implements: N43, N413
SOFTAMP_GENERAL Rounded extremum(const FloatFormat& f, uint64_t a, uint64_t b, const Semantics& s, bool want_greater) {
  const Operand x = unpack(f, a, s), y = unpack(f, b, s);
  if (x.nan() || y.nan()) {
    const uint8_t flags = relate(f, a, b, s, false).flags;
    return nan_result(f, x.nan() ? a : b, flags, s);
  }
  const int64_t ka = order_key(f, a, s), kb = order_key(f, b, s);
  const bool a_greater = ka != kb ? ka > kb : !x.negative;  // -0 orders below +0
  const Operand& chosen = a_greater == want_greater ? x : y;
  if (chosen.infinite()) return pack_infinity(f, chosen.negative, s.rounding(f));
  return round_and_pack(f, chosen.exact(), s.rounding(f), RoundingPolicy::kStill);
}

}  // namespace detail

/// a == b; a NaN compares false, and raises invalid where the preset says so (IEEE: a signalling one).
SOFTAMP_INLINE Compared equal(const FloatFormat& f, uint64_t a, uint64_t b, const Semantics& s) {
  const detail::Related r = detail::relate(f, a, b, s, false);
  return {r.relation == detail::Relation::kEqual, r.flags};
}
/// a == b; any NaN raises invalid.
// implements: N33
SOFTAMP_INLINE Compared equal_signaling(const FloatFormat& f, uint64_t a, uint64_t b, const Semantics& s) {
  const detail::Related r = detail::relate(f, a, b, s, true);
  return {r.relation == detail::Relation::kEqual, r.flags};
}
/// a < b; any NaN raises invalid.
// implements: N33
SOFTAMP_INLINE Compared less(const FloatFormat& f, uint64_t a, uint64_t b, const Semantics& s) {
  const detail::Related r = detail::relate(f, a, b, s, true);
  return {r.relation == detail::Relation::kLess, r.flags};
}
/// a < b, quiet.
SOFTAMP_INLINE Compared less_quiet(const FloatFormat& f, uint64_t a, uint64_t b, const Semantics& s) {
  const detail::Related r = detail::relate(f, a, b, s, false);
  return {r.relation == detail::Relation::kLess, r.flags};
}
/// a <= b; any NaN raises invalid.
SOFTAMP_INLINE Compared less_equal(const FloatFormat& f, uint64_t a, uint64_t b, const Semantics& s) {
  const detail::Related r = detail::relate(f, a, b, s, true);
  return {r.relation == detail::Relation::kLess || r.relation == detail::Relation::kEqual, r.flags};
}
/// a <= b, quiet.
SOFTAMP_INLINE Compared less_equal_quiet(const FloatFormat& f, uint64_t a, uint64_t b, const Semantics& s) {
  const detail::Related r = detail::relate(f, a, b, s, false);
  return {r.relation == detail::Relation::kLess || r.relation == detail::Relation::kEqual, r.flags};
}

/// The lesser of a and b (IEEE 754-2019 minimum): a NaN gives NaN, -0 is below +0.
// implements: N43
SOFTAMP_INLINE Rounded minimum(const FloatFormat& f, uint64_t a, uint64_t b, const Semantics& s) {
  return detail::extremum(f, a, b, s, false);
}
/// The greater of a and b (IEEE 754-2019 maximum): a NaN gives NaN, -0 is below +0.
// implements: N43
SOFTAMP_INLINE Rounded maximum(const FloatFormat& f, uint64_t a, uint64_t b, const Semantics& s) {
  return detail::extremum(f, a, b, s, true);
}

/// The class of a value as f32class codes it: 1 signalling NaN, 2 quiet NaN, 3 and 4 the infinities (`class_codes`),
/// 5 finite. Raises nothing, so that a NaN can be tested for safely.
SOFTAMP_INLINE int classify(const FloatFormat& f, uint64_t a, const Semantics& s) {
  if (f.is_nan(a)) return f.is_signaling_nan(a) ? 1 : 2;
  if (!f.is_infinity(a)) return 5;
  const bool negative = (a & f.sign_mask()) != 0;
  return negative == (s.class_codes == ClassCodes::kPositiveIs3) ? 4 : 3;
}

}  // namespace softamp::fp
