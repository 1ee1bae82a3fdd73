#include "tests/oracle/exact_number.h"

#include <algorithm>

namespace oracle {

Dyadic operator*(const Dyadic& x, const Dyadic& y) { return {x.significand * y.significand, x.exponent + y.exponent}; }
Dyadic operator+(const Dyadic& x, const Dyadic& y) {
  const int e = std::min(x.exponent, y.exponent);
  return {(x.significand << (x.exponent - e)) + (y.significand << (y.exponent - e)), e};
}
Dyadic operator-(const Dyadic& x) { return {-x.significand, x.exponent}; }
Dyadic operator-(const Dyadic& x, const Dyadic& y) { return x + -y; }
Dyadic Dyadic::magnitude() const { return {abs(significand), exponent}; }
int compare(const Dyadic& x, const Dyadic& y) { return (x - y).sign(); }

Real exactly(Dyadic x) {
  return [x](const Dyadic& v) { return compare(x, v); };
}

Real quotient_of(Dyadic x, Dyadic y) {
  return [x, y](const Dyadic& v) { return compare(x, v * y); };
}

Real root_of(Dyadic x) {
  return [x](const Dyadic& v) { return compare(x, v * v); };
}

Real reciprocal_root_of(Dyadic x) {
  return [x](const Dyadic& v) { return compare({1, 0}, v * v * x); };
}

Dyadic magnitude_at(const FloatFormat& f, const Big& code) {
  const Big field = code >> (f.precision - 1), fraction = code - (field << (f.precision - 1));
  const int quantum = 1 - f.bias - (f.precision - 1);
  if (field == 0) return {fraction, quantum};
  return {fraction + (Big{1} << (f.precision - 1)), quantum + static_cast<int>(field) - 1};
}

uint64_t greatest_code(const FloatFormat& f) {
  const uint64_t codes = uint64_t{1} << (f.exponent_bits + f.precision - 1);
  switch (f.specials) {
    case Specials::kIeee: return codes - (uint64_t{1} << (f.precision - 1)) - 1;
    case Specials::kNanOnly: return codes - 2;
    default: return codes - 1;
  }
}

Decoded decode(const FloatFormat& f, uint64_t code) {
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
