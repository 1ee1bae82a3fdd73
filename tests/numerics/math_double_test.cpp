// The binary64 functions and their bodies: special values, signs, thresholds, flags, and digests that pin every bit on
// every compiler. How close they come to the true values: tests/oracle/math_double_accuracy_test.cpp.
#include "softamp/numerics/math_double.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "softamp/kernel/gelu_grad.h"
#include "src/files/sha256.h"
#include "tests/pinned_digests.h"

namespace softamp::math_double {
namespace {

using kernel::Elementwise;
using kernel::Function;

constexpr double kInf = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kTiny = 0x1p-1074, kMost = std::numeric_limits<double>::max();

uint64_t code(double x) { return __builtin_bit_cast(uint64_t, x); }
uint64_t comparable(double x) { return std::isnan(x) ? 0x7FF8000000000000u : code(x); }
double of(Function f, double x) { return kernel::binary64_function_of(f, x); }

template <class Visit>
void for_each_function(const Visit& visit) {
  for (int f = 0; f < kernel::kFunctionCount; ++f)
    if (kernel::has_binary64(static_cast<Function>(f))) visit(static_cast<Function>(f));
}

TEST(MathDouble, SpecialValues) {
  using enum Function;
  const struct {
    Function f;
    double x, y;
  } cases[] = {
      {kExp, -kInf, 0.0},
      {kExp, kInf, kInf},
      {kExp, -0.0, 1},
      {kExp, kTiny, 1},
      {kExp, 0x1.62e42fefa39efp+9, 0x1.fffffffffff2ap+1023},
      {kExp, 0x1.62e42fefa39f0p+9, kInf},
      {kExp, -0x1.74910d52d3051p+9, kTiny},
      {kExp, -0x1.74910d52d3052p+9, 0.0},
      {kExp, kMost, kInf},
      {kExp, -kMost, 0.0},
      {kExpm1, -kInf, -1},
      {kExpm1, kInf, kInf},
      {kExpm1, -0.0, -0.0},
      {kExpm1, kTiny, kTiny},
      {kExpm1, -kTiny, -kTiny},
      {kExpm1, -50, -1},
      {kExpm1, 0x1.62e42fefa39efp+9, 0x1.fffffffffff2ap+1023},
      {kExpm1, 0x1.62e42fefa39f0p+9, kInf},
      {kExp2, 1024, kInf},
      {kExp2, 1023, 0x1p+1023},
      {kExp2, -1022, 0x1p-1022},
      {kExp2, -1074, kTiny},
      {kExp2, -1075, 0.0},
      {kExp2, -0x1.0cbffffffffffp+10, kTiny},
      {kExp2, 10, 1024},
      {kExp2, -kInf, 0.0},
      {kLog, 0.0, -kInf},
      {kLog, -0.0, -kInf},
      {kLog, 1, 0.0},
      {kLog, kInf, kInf},
      {kLog, -1, kNan},
      {kLog, -kTiny, kNan},
      {kLog, kTiny, -0x1.74385446d71c3p+9},
      {kLog, kMost, 0x1.62e42fefa39efp+9},
      {kLog1p, -1, -kInf},
      {kLog1p, -0x1.0000000000001p+0, kNan},
      {kLog1p, -kInf, kNan},
      {kLog1p, kInf, kInf},
      {kLog1p, -0.0, -0.0},
      {kLog1p, -kTiny, -kTiny},
      {kLog1p, kMost, 0x1.62e42fefa39efp+9},
      {kTanh, -0.0, -0.0},
      {kTanh, kInf, 1},
      {kTanh, -kMost, -1},
      {kTanh, kTiny, kTiny},
      {kSigmoid, -0.0, 0.5},
      {kSigmoid, -kInf, 0.0},
      {kSigmoid, kInf, 1},
      {kSigmoid, -745.2, 0.0},
      {kSigmoid, -745, kTiny},
      {kErf, -0.0, -0.0},
      {kErf, -kInf, -1},
      {kErf, kMost, 1},
      {kErf, kTiny, kTiny},
      {kErfc, kInf, 0.0},
      {kErfc, -kInf, 2},
      {kErfc, -0.0, 1},
      {kErfc, 28, 0.0},
      {kErfc, 27.2, 2 * kTiny},
      {kNormalCdf, 0.0, 0.5},
      {kNormalCdf, kInf, 1},
      {kNormalCdf, -kInf, 0.0},
      {kNormalPdf, -kInf, 0.0},
      {kNormalPdf, 0.0, 0x1.9884533d43651p-2},
      {kGelu, -0.0, -0.0},
      {kGelu, -kInf, -0.0},
      {kGelu, kInf, kInf},
      {kGelu, kMost, kMost},
      {kGelu, -kMost, -0.0},
      {kGeluTanh, -0.0, -0.0},
      {kGeluTanh, -kInf, -0.0},
      {kGeluTanh, kInf, kInf},
      {kGeluTanh, kMost, kMost},
      {kGeluGradient, 0.0, 0.5},
      {kGeluGradient, kInf, 1},
      {kGeluGradient, -kInf, -0.0},
      {kGeluTanhGradient, 0.0, 0.5},
      {kGeluTanhGradient, kInf, 1},
      {kGeluTanhGradient, -kInf, -0.0},
      {kSoftplus, kInf, kInf},
      {kSoftplus, -kInf, 0.0},
      {kSoftplus, 0.0, 0x1.62e42fefa39efp-1},
      {kSoftplus, kMost, kMost},
      {kElu, -0.0, -0.0},
      {kElu, -kInf, -1},
      {kElu, kMost, kMost},
      {kSelu, -0.0, -0.0},
      {kSelu, -kInf, -0x1.c212cc640f031p+0},
      {kSelu, 1, 0x1.0cfabd6a91132p+0},
      {kSelu, kMost, kInf},
      {kSelu, kInf, kInf},
  };
  for (const auto& c : cases)
    EXPECT_EQ(comparable(of(c.f, c.x)), comparable(c.y))
        << kernel::name_of(c.f) << " of " << c.x << ": " << of(c.f, c.x);
  for_each_function([](Function f) {
    for (const uint64_t nan : {0x7FF8000000000000u, 0xFFF8000000000001u, 0x7FF0000000000001u})
      EXPECT_TRUE(std::isnan(of(f, __builtin_bit_cast(double, nan)))) << kernel::name_of(f);
  });
}

TEST(MathDouble, OddFunctionsAreExactlySo) {
  for (uint64_t u = 0; u < 0x7FF0000000000000u; u += 0x000123456789ABCDu)
    for (const Function f : {Function::kTanh, Function::kErf})
      ASSERT_EQ(code(of(f, -__builtin_bit_cast(double, u))), code(of(f, __builtin_bit_cast(double, u))) ^ (1ull << 63));
}

/// Neighbours by the thousand around the places where formulations change: functions that rise do not fall.
TEST(MathDouble, RisingFunctionsDoNotFall) {
  using enum Function;
  for (const Function f :
       {kExp, kExpm1, kExp2, kLog, kLog1p, kTanh, kSigmoid, kErf, kNormalCdf, kSoftplus, kElu, kSelu})
    for (const double at : {-745.13,
                            -708.39,
                            -60.0,
                            -38.4,
                            -22.0,
                            -7.0,
                            -1.4142135623730951,
                            -1.0,
                            -0.8814,
                            -0.34657359,
                            -0x1p-28,
                            0x1p-54,
                            0x1p-28,
                            0.34657359,
                            0.70710678,
                            0.8814,
                            1.0,
                            1.4142135623730951,
                            7.0,
                            22.0,
                            50.0}) {
      if ((f == kLog && at < 0) || (f == kLog1p && at <= -1)) continue;
      double x = at, before = of(f, x);
      for (int i = 0; i < 2000; ++i) {
        x = std::nextafter(x, kInf);
        const double y = of(f, x);
        ASSERT_GE(y, before) << kernel::name_of(f) << " of " << x;
        before = y;
      }
    }
}

/// A pair rounded below 2^-1022 is rounded once: bits that no binary64 number has decide ties.
// tests: N440
TEST(MathDouble, SubnormalsAreRoundedOnce) {
  using math::detail::Pair;
  const auto rounded = [](double high, double low, int64_t n) {
    return math::detail::rounded(Pair{high, low}, n).value;
  };
  EXPECT_EQ(rounded(1, 0, -1074), kTiny);
  EXPECT_EQ(rounded(1, 0, -1075), 0);  // a tie, to even
  EXPECT_EQ(rounded(1, 0x1p-60, -1075), kTiny);
  EXPECT_EQ(rounded(1.5, 0, -1074), 2 * kTiny);
  EXPECT_EQ(rounded(1.5, -0x1p-54, -1074), kTiny);
  EXPECT_EQ(rounded(-1.5, 0x1p-54, -1074), -kTiny);
  EXPECT_EQ(rounded(1.5, -0x1p-100, -1074), kTiny);
  EXPECT_EQ(rounded(0x1.fffffffffffffp-1, 0, -1022), 0x1p-1022);
  EXPECT_EQ(rounded(0x1.fffffffffffffp-1, -0x1p-100, -1022), 0x0.fffffffffffffp-1022);
  EXPECT_EQ(rounded(0x1.0000000000001p+0, 0x1p-54, -1023), 0x0.8000000000001p-1022);
  EXPECT_EQ(rounded(0x1.0000000000001p+0, -0x1p-54, -1023), 0x0.8p-1022);
  EXPECT_EQ(rounded(1.5, 0, 1023), 0x1.8p+1023);
  EXPECT_EQ(rounded(1.5, 0, 1024), kInf);
  EXPECT_EQ(rounded(0x1.fffffffffffffp-1, 0, 1024), kMost);
  EXPECT_EQ(rounded(1, 0, -1400), 0);
}

// Flags: invalid, division by zero, overflow; never inexact or underflow, whatever the preset. NaN operands,
// infinities, subnormals.
// tests: N440
TEST(MathDouble, BodiesRaiseWhatTheyShould) {
  using enum Function;
  const Semantics ieee = Semantics::ieee(), ipu = Semantics::ipu();
  const auto flags = [](Function f, double x, const Semantics& s) { return kernel::evaluate64(f, code(x), s).flags; };
  for (const Semantics& s : {ieee, ipu}) {
    const uint8_t all = s.wide.flags;
    EXPECT_EQ(flags(kLog, -1, s), kInvalid & all);
    EXPECT_EQ(flags(kLog, -kTiny, s), kInvalid & all);
    EXPECT_EQ(flags(kLog1p, -2, s), kInvalid & all);
    EXPECT_EQ(flags(kLog, -0.0, s), kernel::arithmetic64(Elementwise::kReciprocal, 0, 0, s).flags);
    EXPECT_EQ(flags(kLog1p, -1, s), kernel::arithmetic64(Elementwise::kReciprocal, 0, 0, s).flags);
    EXPECT_EQ(flags(kExp, 1000, s), kOverflow & all);
    EXPECT_EQ(flags(kSelu, kMost, s), kOverflow & all);
    EXPECT_EQ(flags(kExp, kInf, s), 0);
    EXPECT_EQ(flags(kExp, -745, s), 0);
    EXPECT_EQ(flags(kGelu, 0.3, s), 0);
    EXPECT_EQ(flags(kTanh, kNan, s), kernel::arithmetic64(Elementwise::kSqrt, code(kNan), 0, s).flags);
    EXPECT_EQ(kernel::evaluate64(kExp, code(-745.0), s).code, 1u);  // nothing is flushed
    EXPECT_EQ(kernel::evaluate64(kTanh, code(0x1p-1074), s).code, 1u);
    EXPECT_EQ(kernel::evaluate64(kExp, code(kInf), s).code, code(kInf));
    const Rounded nan = kernel::evaluate64(kExp, 0xFFF8000000000123u, s);
    EXPECT_EQ(nan.code, kernel::arithmetic64(Elementwise::kSqrt, 0xFFF8000000000123u, 0, s).code);
    EXPECT_EQ(kernel::times_function64(kGeluGradient, code(kMost), code(1.0), s).flags, kOverflow & all);
    EXPECT_EQ(kernel::times_function64(kGeluGradient, code(kInf), code(-kInf), s).flags, kInvalid & all);
    EXPECT_EQ(kernel::times_function64(kGeluGradient, code(2.0), code(0.0), s).code, code(1.0));
  }
  EXPECT_NE(flags(kLog, 0.0, ieee) & kDivideByZero, 0);
}

// The formulas' steps, each to nearest: against the same steps of the processor.
// tests: N199
TEST(MathDouble, FormulasStepByStep) {
  const Semantics s = Semantics::ieee();
  const auto value = [&](Elementwise op, double a, double b, double alpha = 0) {
    return __builtin_bit_cast(double, kernel::elementwise(op, kBinary64, code(a), code(b), alpha, s, 0).code);
  };
  const auto flags = [&](Elementwise op, double a, double b, double alpha = 0) {
    return kernel::elementwise(op, kBinary64, code(a), code(b), alpha, s, 0).flags;
  };
  std::mt19937_64 random(7);
  const auto next = [&] {
    const uint64_t state = random();
    return __builtin_bit_cast(double, 0x3FD0000000000000u + (state >> 9) % 0x0040000000000000u) * (state & 1 ? 1 : -1);
  };
  for (int i = 0; i < 2000; ++i) {
    const double x = next(), y = next(), one_less = 1 - x, square = x * x, cube = square * x, rest = 1 - square;
    const double half = 0.5 * y, product = y * x, difference = x - y;
    EXPECT_EQ(value(Elementwise::kTanhGrad, x, y), y * rest);
    EXPECT_EQ(value(Elementwise::kSigmoidGrad, x, y), product * one_less);
    EXPECT_EQ(value(Elementwise::kSqrtGrad, x, y), half / x);
    EXPECT_EQ(value(Elementwise::kRsqrtGrad, x, y), -half * cube);
    EXPECT_EQ(value(Elementwise::kReciprocalGrad, x, y), -y * square);
    EXPECT_EQ(value(Elementwise::kSquaredDifference, x, y), difference * difference);
    EXPECT_EQ(value(Elementwise::kLeakyRelu, x, 0, 0.1), x > 0 ? x : x * 0.1);  // 0.1 as binary64 has it
    EXPECT_EQ(value(Elementwise::kLeakyReluGrad, x, y, 0.1), y > 0 ? x : x * 0.1);
  }
  EXPECT_EQ(flags(Elementwise::kSquaredDifference, kMost, -1), kOverflow);
  EXPECT_EQ(flags(Elementwise::kSqrtGrad, 0, 1), kDivideByZero);
  EXPECT_EQ(flags(Elementwise::kSqrtGrad, 0, 0), kInvalid);
  EXPECT_EQ(flags(Elementwise::kSquaredDifference, kInf, kInf), kInvalid);
  EXPECT_EQ(flags(Elementwise::kTanhGrad, kTiny, kTiny), 0);
}

/// Whoever changes a bit or adds a function adds the new digests to tests/backend/arithmetic.json (N65).
// tests: N440
TEST(MathDouble, GoldenDigests) {
  std::map<std::string, std::string> found;
  for_each_function([&](Function f) {
    Sha256 sha;
    std::vector<unsigned char> bytes;
    const auto add = [&](double x) {
      const uint64_t y = comparable(of(f, x));
      for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<unsigned char>(y >> 8 * i));
    };
    std::linear_congruential_engine<uint64_t, 6364136223846793005u, 1442695040888963407u, 0> random(1);
    for (int i = 0; i < 40000; ++i) {
      const uint64_t state = random(), u = state ^ state >> 29;
      add(__builtin_bit_cast(double, u));
      add(__builtin_bit_cast(double, (u & 0x800FFFFFFFFFFFFFu) | (uint64_t{1023 - 20} + u % 31) << 52));
    }
    sha.add(bytes.data(), bytes.size());
    found[kernel::name_of(f)] = sha.hex();
  });
  EXPECT_EQ(found, test::pinned_digests("functions64"));
}

}  // namespace
}  // namespace softamp::math_double
