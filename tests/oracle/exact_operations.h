// The operations of the unit for every format and preset, over exact numbers: slow, and written from the rules alone.
#pragma once

#include <initializer_list>
#include <optional>

#include "softamp/numerics/semantics.h"
#include "tests/oracle/exact_rounding.h"

namespace oracle::exact {

using softamp::Semantics;

inline bool wide(const FloatFormat& f) { return f.exponent_bits + f.precision > 16 && f.precision <= 24; }
inline const RoundingPolicy& policy(const FloatFormat& f, const Semantics& s) {
  const int bits = f.exponent_bits + f.precision;
  return bits > 16 ? s.wide : bits > 8 ? s.narrow : s.quarter;
}

/// An operand as the preset sees it: `half_inf_operand`, `f32_daz` and `f32_flush_sign` applied.
Decoded operand(const FloatFormat& f, uint64_t code, const Semantics& s);

/// Outcome of an operation with result format `to` that read NaNs; kPropagate is not modelled here (see switches).
std::optional<Rounded> nan_among(const FloatFormat& to, const Semantics& s, std::initializer_list<Decoded> all);
Rounded invalid(const FloatFormat& f, const Semantics& s);

/// A sum of exact terms: rounded, or a zero by the sign rules of 754, 6.3.
Rounded round_sum(const FloatFormat& f, const Dyadic& x, const Dyadic& y, bool x_negative, bool y_negative,
                  const Semantics& s, uint32_t random);

Rounded add(const FloatFormat& f, uint64_t a, uint64_t b, const Semantics& s, uint32_t random = 0,
            bool negate_b = false);
Rounded sub(const FloatFormat& f, uint64_t a, uint64_t b, const Semantics& s, uint32_t random = 0);
Rounded fma(const FloatFormat& f, uint64_t a, uint64_t b, uint64_t c, const Semantics& s, uint32_t random = 0);
Rounded mul(const FloatFormat& f, uint64_t a, uint64_t b, const Semantics& s, uint32_t random = 0);
Rounded div(const FloatFormat& f, uint64_t a, uint64_t b, const Semantics& s, uint32_t random = 0);
Rounded sqrt(const FloatFormat& f, uint64_t a, const Semantics& s, uint32_t random = 0);
Rounded reciprocal(const FloatFormat& f, uint64_t a, const Semantics& s, uint32_t random = 0);
Rounded reciprocal_sqrt(const FloatFormat& f, uint64_t a, const Semantics& s, uint32_t random = 0);

/// n = the integer nearest x / y, ties to even; then x - n y, which every format can hold.
Rounded rem(const FloatFormat& f, uint64_t a, uint64_t b, const Semantics& s, uint32_t random = 0);
Rounded convert(const FloatFormat& from, const FloatFormat& to, uint64_t code, const Semantics& s, uint32_t random = 0);
Rounded to_int32(const FloatFormat& f, uint64_t code, const Semantics& s, bool exact, uint32_t random = 0);
Rounded from_int32(int32_t value, const FloatFormat& f, const Semantics& s, uint32_t random = 0);
Rounded round_to_integral(const FloatFormat& f, uint64_t a, const Semantics& s, bool exact, uint32_t random = 0);

}  // namespace oracle::exact
