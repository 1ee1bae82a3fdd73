// Numbers of 160 bits, by MPFR, with the functions that tests/ops/function_rows.h writes its formulas with.
#pragma once

#include <mpfr.h>

#include <bit>
#include <cmath>
#include <cstdint>

#include "tests/ops/function_rows.h"

namespace oracle {

class MpfrNumber {
 public:
  static constexpr int kBits = 160;

  MpfrNumber(double x = 0) {
    mpfr_init2(value_, kBits);
    mpfr_set_d(value_, x, MPFR_RNDN);
  }
  MpfrNumber(const MpfrNumber& other) {
    mpfr_init2(value_, kBits);
    mpfr_set(value_, other.value_, MPFR_RNDN);
  }
  MpfrNumber& operator=(const MpfrNumber& other) {
    mpfr_set(value_, other.value_, MPFR_RNDN);
    return *this;
  }
  ~MpfrNumber() { mpfr_clear(value_); }

  /// The value as binary64, and rounded to odd, so that a second rounding to at most 50 bits is the first.
  double nearest() const { return mpfr_get_d(value_, MPFR_RNDN); }
  double odd() const {
    const double toward_zero = mpfr_get_d(value_, MPFR_RNDZ);
    return std::bit_cast<double>(std::bit_cast<uint64_t>(toward_zero) | (mpfr_cmp_d(value_, toward_zero) != 0));
  }
  /// The value rounded to fp32, to nearest even.
  float rounded() const { return static_cast<float>(odd()); }

  static MpfrNumber pi() {
    MpfrNumber y;
    mpfr_const_pi(y.value_, MPFR_RNDN);
    return y;
  }

#define SOFTAMP_OF_TWO(name, body)                                   \
  friend MpfrNumber name(const MpfrNumber& a, const MpfrNumber& b) { \
    MpfrNumber y;                                                    \
    mpfr_##body(y.value_, a.value_, b.value_, MPFR_RNDN);            \
    return y;                                                        \
  }
  SOFTAMP_OF_TWO(operator+, add)
  SOFTAMP_OF_TWO(operator-, sub)
  SOFTAMP_OF_TWO(operator*, mul)
  SOFTAMP_OF_TWO(operator/, div)
  SOFTAMP_OF_TWO(pow, pow)
  SOFTAMP_OF_TWO(copysign, copysign)
#undef SOFTAMP_OF_TWO

#define SOFTAMP_OF_ONE(name, body)              \
  friend MpfrNumber name(const MpfrNumber& a) { \
    MpfrNumber y;                               \
    mpfr_##body(y.value_, a.value_, MPFR_RNDN); \
    return y;                                   \
  }
  SOFTAMP_OF_ONE(operator-, neg)
  SOFTAMP_OF_ONE(fabs, abs)
  SOFTAMP_OF_ONE(sqrt, sqrt)
  SOFTAMP_OF_ONE(exp, exp)
  SOFTAMP_OF_ONE(exp2, exp2)
  SOFTAMP_OF_ONE(expm1, expm1)
  SOFTAMP_OF_ONE(log, log)
  SOFTAMP_OF_ONE(log1p, log1p)
  SOFTAMP_OF_ONE(tanh, tanh)
  SOFTAMP_OF_ONE(erf, erf)
  SOFTAMP_OF_ONE(erfc, erfc)
  SOFTAMP_OF_ONE(sin, sin)
  SOFTAMP_OF_ONE(cos, cos)
#undef SOFTAMP_OF_ONE

  friend bool operator==(const MpfrNumber& a, const MpfrNumber& b) { return mpfr_equal_p(a.value_, b.value_) != 0; }
  friend bool operator<(const MpfrNumber& a, const MpfrNumber& b) { return mpfr_less_p(a.value_, b.value_) != 0; }

 private:
  mpfr_t value_;
};

}  // namespace oracle

template <>
inline oracle::MpfrNumber softamp::test::formulas::pi<oracle::MpfrNumber>() {
  return oracle::MpfrNumber::pi();
}
