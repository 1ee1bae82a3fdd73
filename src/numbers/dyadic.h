// Integers times powers of two, without limits: the exact values behind what reports print.
#pragma once

#include "softamp/numerics/operand.h"

#include <boost/multiprecision/cpp_int.hpp>

#include <string>

namespace softamp::detail {

/// number * 2^exponent, exactly.
struct Dyadic {
  boost::multiprecision::cpp_int number;
  int exponent = 0;

  /// The value of a finite code.
  static Dyadic of(const FloatFormat& format, uint64_t code) {
    const Exact x = unpack_finite(format, code);
    boost::multiprecision::cpp_int number = x.significand;
    if (x.negative) number = -number;
    return {number, x.exponent};
  }

  friend Dyadic operator+(Dyadic a, Dyadic b) {
    if (a.exponent < b.exponent) std::swap(a, b);
    a.number <<= a.exponent - b.exponent;
    return {a.number + b.number, b.exponent};
  }
  friend Dyadic operator-(const Dyadic& a) { return {-a.number, a.exponent}; }
  Dyadic times(uint64_t factor) const { return {number * factor, exponent}; }

  /// Every digit.
  std::string decimal() const;
  /// Rounded to nearest even.
  double to_double() const;
};

}  // namespace softamp::detail
