// Exact numbers for the slow oracle of every format: dyadic rationals of any size, and real numbers that are known
// only by how they compare with dyadic ones. So quotients and roots need no digits, and no rounding is near.
#pragma once

#include <algorithm>
#include <boost/multiprecision/cpp_int.hpp>
#include <cstdint>
#include <functional>

#include "softamp/numerics/format.h"

namespace oracle {

using Big = boost::multiprecision::cpp_int;
using softamp::FloatFormat;
using softamp::Specials;

/// significand * 2^exponent, of either sign.
struct Dyadic {
  Big significand = 0;
  int exponent = 0;

  friend Dyadic operator*(const Dyadic& x, const Dyadic& y) {
    return {x.significand * y.significand, x.exponent + y.exponent};
  }
  friend Dyadic operator+(const Dyadic& x, const Dyadic& y) {
    const int e = std::min(x.exponent, y.exponent);
    return {(x.significand << (x.exponent - e)) + (y.significand << (y.exponent - e)), e};
  }
  friend Dyadic operator-(const Dyadic& x) { return {-x.significand, x.exponent}; }
  friend Dyadic operator-(const Dyadic& x, const Dyadic& y) { return x + -y; }
  int sign() const { return significand.sign(); }
  Dyadic magnitude() const { return {abs(significand), exponent}; }
};
/// -1, 0, 1 as x < y, x == y, x > y.
inline int compare(const Dyadic& x, const Dyadic& y) { return (x - y).sign(); }

/// A positive real number, known by the sign of (number - v) for every dyadic v >= 0.
using Real = std::function<int(const Dyadic&)>;

inline Real exactly(Dyadic x) {
  return [x](const Dyadic& v) { return compare(x, v); };
}
inline Real quotient_of(Dyadic x, Dyadic y) {  // y > 0
  return [x, y](const Dyadic& v) { return compare(x, v * y); };
}
inline Real root_of(Dyadic x) {
  return [x](const Dyadic& v) { return compare(x, v * v); };
}
inline Real reciprocal_root_of(Dyadic x) {  // x > 0
  return [x](const Dyadic& v) { return compare({1, 0}, v * v * x); };
}

/// What the code of a format stands for, from the definition of the encodings.
enum class Sort { kFinite, kInfinite, kNotANumber };
struct Decoded {
  Sort sort = Sort::kFinite;
  bool negative = false;
  bool signaling = false;
  Dyadic magnitude;           ///< of a finite number
  bool nan_has_sign = false;  ///< a NaN of a format that has one of either sign

  Dyadic value() const { return negative ? -magnitude : magnitude; }
  bool zero() const { return sort == Sort::kFinite && magnitude.sign() == 0; }
  bool infinite() const { return sort == Sort::kInfinite; }
  bool nan() const { return sort == Sort::kNotANumber; }
};

/// The number that magnitude code `code` would encode if no code were special and the exponent field had no end.
inline Dyadic magnitude_at(const FloatFormat& f, const Big& code) {
  const Big field = code >> (f.precision - 1), fraction = code - (field << (f.precision - 1));
  const int quantum = 1 - f.bias - (f.precision - 1);
  if (field == 0) return {fraction, quantum};
  return {fraction + (Big{1} << (f.precision - 1)), quantum + static_cast<int>(field) - 1};
}

inline uint64_t greatest_code(const FloatFormat& f) {
  const uint64_t codes = uint64_t{1} << (f.exponent_bits + f.precision - 1);
  switch (f.specials) {
    case Specials::kIeee: return codes - (uint64_t{1} << (f.precision - 1)) - 1;
    case Specials::kNanOnly: return codes - 2;
    default: return codes - 1;
  }
}

inline Decoded decode(const FloatFormat& f, uint64_t code) {
  const int sign_bit = f.exponent_bits + f.precision - 1;
  const uint64_t magnitude = code & ((uint64_t{1} << sign_bit) - 1);
  Decoded d;
  d.negative = (code >> sign_bit & 1) != 0;
  if (f.specials == Specials::kNegativeZeroNan) {
    if (d.negative && magnitude == 0) d.sort = Sort::kNotANumber;
  } else if (f.specials != Specials::kNone && magnitude > greatest_code(f)) {
    const bool infinite = f.specials == Specials::kIeee && magnitude == greatest_code(f) + 1;
    d.sort = infinite ? Sort::kInfinite : Sort::kNotANumber;
    d.nan_has_sign = !infinite;
    d.signaling = !infinite && f.specials == Specials::kIeee && (magnitude >> (f.precision - 2) & 1) == 0;
  }
  if (d.sort == Sort::kFinite) d.magnitude = magnitude_at(f, magnitude);
  return d;
}

}  // namespace oracle
