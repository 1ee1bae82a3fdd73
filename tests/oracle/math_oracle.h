// The elementary functions by MPFR, errors in units in the last place, and the promises of docs/NUMERICS.md as data.
#pragma once

#include <mpfr.h>

#include <cmath>
#include <cstdint>

#include "softamp/kernel/functions.h"

namespace oracle {

using softamp::kernel::Function;

/// One row of the table of accuracy: |fp32 result - exact| <= bound ulp(exact) for every fp32 operand in [least, most],
/// where |exact| >= smallest. An ulp is the spacing of fp32 numbers at the exact value, 2^-149 at the least.
struct MathRow {
  Function function;
  const char* name;
  double bound;
  double smallest;
  float least, most;
};

constexpr float kEnd = __builtin_inff();
constexpr double kAny = 0, kNormal = 0x1p-126;
constexpr MathRow kMathRows[] = {
    {Function::kExp, "exp", 1.1, kAny, -kEnd, kEnd},
    {Function::kExpm1, "expm1", 1.3, kAny, -kEnd, kEnd},
    {Function::kExp2, "exp2", 1.2, kAny, -kEnd, kEnd},
    {Function::kLog, "log", 0.85, kAny, 0, kEnd},
    {Function::kLog1p, "log1p", 0.95, kAny, -1, kEnd},
    {Function::kTanh, "tanh", 1.35, kAny, -kEnd, kEnd},
    {Function::kSigmoid, "sigmoid", 1.1, kAny, -kEnd, kEnd},
    {Function::kErf, "erf", 1.15, kAny, -kEnd, kEnd},
    {Function::kGelu, "gelu", 2.65, kNormal, -kEnd, kEnd},
    {Function::kGeluTanh, "gelu_tanh", 1.9, kNormal, -kEnd, kEnd},
    {Function::kSin, "sin", 0.9, kAny, -kEnd, kEnd},
    {Function::kCos, "cos", 0.9, kAny, -kEnd, kEnd},
    {Function::kNormalCdf, "normal_cdf", 2.5, kNormal, -kEnd, kEnd},
    {Function::kNormalPdf, "normal_pdf", 1.3, kNormal, -kEnd, kEnd},
};

/// ulp of fp32 at a value.
inline double ulp32(double exact) {
  const int exponent = exact == 0 ? -200 : std::ilogb(exact);
  return std::ldexp(1.0, (exponent < -126 ? -126 : exponent > 127 ? 127 : exponent) - 23);
}

/// Exact values to `kBits` bits. Not copied.
class MathOracle {
 public:
  static constexpr int kBits = 160;

  MathOracle() {
    for (mpfr_t* x : {&value_, &x_, &t_}) mpfr_init2(*x, kBits);
  }
  MathOracle(const MathOracle&) = delete;
  MathOracle& operator=(const MathOracle&) = delete;
  ~MathOracle() {
    for (mpfr_t* x : {&value_, &x_, &t_}) mpfr_clear(*x);
  }

  /// Sets the exact value of f(x); x finite.
  void evaluate(Function f, double x) {
    mpfr_set_d(x_, x, MPFR_RNDN);
    switch (f) {
      case Function::kExp: mpfr_exp(value_, x_, MPFR_RNDN); break;
      case Function::kExpm1: mpfr_expm1(value_, x_, MPFR_RNDN); break;
      case Function::kExp2: mpfr_exp2(value_, x_, MPFR_RNDN); break;
      case Function::kLog: mpfr_log(value_, x_, MPFR_RNDN); break;
      case Function::kLog1p: mpfr_log1p(value_, x_, MPFR_RNDN); break;
      case Function::kTanh: mpfr_tanh(value_, x_, MPFR_RNDN); break;
      case Function::kErf: mpfr_erf(value_, x_, MPFR_RNDN); break;
      case Function::kSin: mpfr_sin(value_, x_, MPFR_RNDN); break;
      case Function::kCos: mpfr_cos(value_, x_, MPFR_RNDN); break;
      case Function::kSigmoid: sigmoid(x_); break;
      case Function::kNormalCdf: normal_cdf(); break;
      case Function::kNormalPdf: normal_pdf(); break;
      case Function::kGelu:
        normal_cdf();
        mpfr_mul(value_, value_, x_, MPFR_RNDN);
        break;
      case Function::kGeluTanh: gelu_tanh(); break;
      case Function::kGeluGradient:
      case Function::kGeluTanhGradient: break;  // judged by differences of the functions
    }
  }
  void evaluate_pow(double x, double y) {
    mpfr_set_d(x_, x, MPFR_RNDN);
    mpfr_set_d(t_, y, MPFR_RNDN);
    mpfr_pow(value_, x_, t_, MPFR_RNDN);
  }

  /// The value as binary64, and rounded to odd, so that a second rounding to at most 50 bits is the first.
  double nearest() const { return mpfr_get_d(value_, MPFR_RNDN); }
  double odd() const {
    const double toward_zero = mpfr_get_d(value_, MPFR_RNDZ);
    const uint64_t code = __builtin_bit_cast(uint64_t, toward_zero);
    return __builtin_bit_cast(double, code | (mpfr_cmp_d(value_, toward_zero) != 0));
  }
  /// |y - value| in ulp of fp32 at the value.
  double error_of(double y) {
    mpfr_sub_d(t_, value_, y, MPFR_RNDN);
    return std::fabs(mpfr_get_d(t_, MPFR_RNDN)) / ulp32(mpfr_get_d(value_, MPFR_RNDZ));
  }
  /// The value rounded to fp32, to nearest even.
  float rounded() const { return static_cast<float>(odd()); }

 private:
  void sigmoid(const mpfr_t& u) {  // 1 / (1 + e^-u), exact for u far below zero, too
    mpfr_neg(t_, u, MPFR_RNDN);
    mpfr_exp(t_, t_, MPFR_RNDN);
    mpfr_add_ui(t_, t_, 1, MPFR_RNDN);
    mpfr_ui_div(value_, 1, t_, MPFR_RNDN);
  }
  void normal_cdf() {  // erfc(-x / sqrt 2) / 2
    mpfr_sqrt_ui(t_, 2, MPFR_RNDN);
    mpfr_div(t_, x_, t_, MPFR_RNDN);
    mpfr_neg(t_, t_, MPFR_RNDN);
    mpfr_erfc(value_, t_, MPFR_RNDN);
    mpfr_div_ui(value_, value_, 2, MPFR_RNDN);
  }
  void normal_pdf() {
    mpfr_sqr(value_, x_, MPFR_RNDN);
    mpfr_div_si(value_, value_, -2, MPFR_RNDN);
    mpfr_exp(value_, value_, MPFR_RNDN);
    mpfr_const_pi(t_, MPFR_RNDN);
    mpfr_mul_ui(t_, t_, 2, MPFR_RNDN);
    mpfr_sqrt(t_, t_, MPFR_RNDN);
    mpfr_div(value_, value_, t_, MPFR_RNDN);
  }
  void gelu_tanh() {  // x sigmoid(2 sqrt(2/pi) (x + 0.044715 x^3))
    mpfr_t u;
    mpfr_init2(u, kBits);
    mpfr_sqr(u, x_, MPFR_RNDN);
    mpfr_mul_ui(u, u, 44715, MPFR_RNDN);
    mpfr_div_ui(u, u, 1000000, MPFR_RNDN);
    mpfr_add_ui(u, u, 1, MPFR_RNDN);
    mpfr_mul(u, u, x_, MPFR_RNDN);
    mpfr_const_pi(t_, MPFR_RNDN);
    mpfr_ui_div(t_, 8, t_, MPFR_RNDN);
    mpfr_sqrt(t_, t_, MPFR_RNDN);
    mpfr_mul(u, u, t_, MPFR_RNDN);
    sigmoid(u);
    mpfr_mul(value_, value_, x_, MPFR_RNDN);
    mpfr_clear(u);
  }

  mpfr_t value_, x_, t_;
};

}  // namespace oracle
