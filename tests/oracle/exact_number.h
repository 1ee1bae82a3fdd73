// Exact numbers for the slow oracle of every format: dyadic rationals of any size, and real numbers that are known
// only by how they compare with dyadic ones. So quotients and roots need no digits, and no rounding is near.
#pragma once

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

  friend Dyadic operator*(const Dyadic& x, const Dyadic& y);
  friend Dyadic operator+(const Dyadic& x, const Dyadic& y);
  friend Dyadic operator-(const Dyadic& x);
  friend Dyadic operator-(const Dyadic& x, const Dyadic& y);
  int sign() const { return significand.sign(); }
  Dyadic magnitude() const;
};
/// -1, 0, 1 as x < y, x == y, x > y.
int compare(const Dyadic& x, const Dyadic& y);

/// A positive real number, known by the sign of (number - v) for every dyadic v >= 0.
using Real = std::function<int(const Dyadic&)>;

Real exactly(Dyadic x);
Real quotient_of(Dyadic x, Dyadic y);  ///< y > 0
Real root_of(Dyadic x);
Real reciprocal_root_of(Dyadic x);  ///< x > 0

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
Dyadic magnitude_at(const FloatFormat& f, const Big& code);

uint64_t greatest_code(const FloatFormat& f);
Decoded decode(const FloatFormat& f, uint64_t code);

}  // namespace oracle
