// The promises of docs/NUMERICS.md for the elementary functions against MPFR: fp32 operands by a stride and around what
// is hard, every half, powers, and the normal numbers' probabilities.
//
// tests/exhaustive/functions.cpp holds the rows' bounds for every fp32 operand.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "softamp/numerics/math_normal.h"
#include "tests/oracle/math_oracle.h"
#include "tests/slice.h"

namespace {

using namespace oracle;
using namespace softamp;
using kernel::Function;

/// Every `stride`-th code, and the neighbourhoods of the places where functions and formulations change.
std::vector<float> operands(uint32_t stride) {
  std::vector<float> xs;
  for (uint64_t u = 0; u < uint64_t{1} << 32; u += stride)
    xs.push_back(__builtin_bit_cast(float, static_cast<uint32_t>(u)));
  for (const float x :
       {0x1p-149f, 0x1p-126f,  0x1p-25f,    0x1p-13f,   0.34657359f, 0.5f,   0.625f, 0.70710678f, 0.925f,
        1.0f,      1.0397208f, 1.41421356f, 1.5707963f, 3.1415927f,  3.92f,  9.02f,  12.0f,       14.5f,
        17.0f,     65536.0f,   87.33654f,   88.72284f,  103.97f,     126.0f, 128.0f, 149.0f,      3.4e38f})
    for (int i = -40; i <= 40; ++i)
      for (const uint32_t sign : {0u, 0x80000000u})
        xs.push_back(__builtin_bit_cast(
            float, (__builtin_bit_cast(uint32_t, x) + static_cast<uint32_t>(i < 0 && x < 0x1p-140f ? 0 : i)) | sign));
  return xs;
}

TEST(MathAccuracy, EveryRowOfTheTable) {
  const std::vector<float> xs = operands(200003);
  softamp::test::Slice slice(4);
  for (const auto& [row, exact_of] : promised_functions()) {
    if (!slice.takes()) continue;
    double worst = 0;
    for (const float x : xs) {
      if (!(x > row.least && x < row.most)) continue;
      const MpfrNumber exact = exact_of(x);
      const double value = exact.nearest();
      const float y = kernel::function_of(row.function, x);
      if (std::isinf(exact.rounded()) || std::isinf(y)) {
        // Only next to the border: 1 ulp of the largest number on either side.
        ASSERT_TRUE(exact.rounded() == y || std::fabs(std::fabs(value) - 0x1.ffffffp+127) < 0x1p+105)
            << row.name() << x;
        continue;
      }
      if (std::fabs(value) < row.smallest) continue;
      const double error = error_of(y, exact);
      ASSERT_LE(error, row.ulps) << row.name() << " of " << x;
      worst = std::max(worst, error);
    }
    EXPECT_GT(worst, 0.5) << row.name() << ": a function without error? The judge is asleep";
    RecordProperty(row.name(), std::to_string(worst));
  }
}

/// By the mean value theorem a central difference is the derivative up to h^2/6 |f'''|, and |f'''| < 2.2 for both; with
/// h = 2^-20 that and the differences' own error, 2^-40, are far below 2^-22. Bound: 4 ulp of 1.13, the largest value.
TEST(MathAccuracy, GradientsOfGelu) {
  constexpr double h = 0x1p-20;
  const auto exact = [](Function f, double x) { return softamp::test::judged<MpfrNumber>(f).value(x).nearest(); };
  for (const auto& [gradient, of] : {std::pair{Function::kGeluGradient, Function::kGelu},
                                     std::pair{Function::kGeluTanhGradient, Function::kGeluTanh}})
    for (double x = -9; x <= 9; x += 0.0078125) {
      const long double above = exact(of, x + h);
      const double slope = static_cast<double>((above - exact(of, x - h)) / (2 * h));
      EXPECT_NEAR(kernel::function_of(gradient, static_cast<float>(x)), slope, 4 * 0x1p-23) << x;
    }
}

/// Half results are round(fp32 result). Let t be exact and |y - t| <= B ulp32(t), B the row's bound. If round(y) is not
/// round(t), a border between halves lies between y and t, so within B ulp32(t) of t; and the two are neighbours.
TEST(MathAccuracy, EveryHalf) {
  const Semantics s = Semantics::ieee();
  softamp::test::Slice slice(4);
  for (const auto& [row, exact_of] : promised_functions()) {
    if (!slice.takes()) continue;
    int differing = 0;
    for (uint32_t code = 0; code < 0x10000; ++code) {
      if (!kFp16.is_finite(code)) continue;
      const double x = fp::to_double(kFp16, code);
      if (!(x > row.least && x < row.most)) continue;
      const uint64_t got = kernel::evaluate(row.function, kFp16, kFp16, code, s).code;
      const MpfrNumber exact = exact_of(x);
      const uint64_t nearest = fp::from_double(kFp16, exact.odd());
      if (got == nearest) continue;
      ++differing;
      ASSERT_EQ(got > nearest ? got - nearest : nearest - got, 1u) << row.name() << " " << std::hex << code;
      const double border = (fp::to_double(kFp16, got) + fp::to_double(kFp16, nearest)) / 2;
      ASSERT_LE(error_of(border, exact), row.ulps) << row.name() << " " << std::hex << code;
    }
    // Of n results, 2^-13 2 B n or so lie that close to a border: about 20 for B = 1 and n = 63486.
    EXPECT_LE(differing, 60) << row.name();
    RecordProperty(std::string(row.name()) + "_halves", differing);
  }
}

TEST(MathAccuracy, Powers) {
  std::mt19937 random(12345);
  const auto next = [&] { return static_cast<uint32_t>(random()); };
  double worst = 0;
  softamp::test::Slice slice(4);
  for (int i = 0; i < 200000; ++i) {
    float x = __builtin_bit_cast(float, next() & 0x7FFFFFFFu), y = __builtin_bit_cast(float, next());
    if (i % 3) y = __builtin_bit_cast(float, 0x3D000000u + next() % 0x6000000u) * (i % 2 ? 1.0f : -1.0f);
    if (i % 4 == 1) x = 1 + (static_cast<int>(next() % 4001) - 2000) * 0x1p-20f;
    if (!(x > 0 && std::isfinite(x) && std::isfinite(y)) || !slice.takes()) continue;
    const MpfrNumber exact = pow(MpfrNumber(x), MpfrNumber(y));
    const float z = math::pow(math::Float(x), math::Float(y)).value;
    if (exact.rounded() == z) continue;  // infinities and zeros, too
    const double error = error_of(z, exact);
    ASSERT_LE(error, 0.515) << x << "^" << y;
    worst = std::max(worst, error);
  }
  EXPECT_GT(worst, 0.5);
}

/// The words' numbers against the distribution function: |Phi(z) - p| <= 3 2^-22 z phi(z), which a relative error of
/// 3 2^-22 in z is; p counted from the nearer end.
TEST(MathAccuracy, NormalNumbers) {
  const double root_pi = std::sqrt(2 * 3.14159265358979323846), cut = 0.5 * std::erfc(std::sqrt(2.0));
  const auto check = [&](uint32_t word) {
    const double p = (word + 0.5) * 0x1p-32;
    const double z = math::normal_from_bits<math::Float>(word).value;
    const double density = std::exp(-z * z / 2) / root_pi;
    const double found = 0.5 * std::erfc(-z * M_SQRT1_2);
    ASSERT_LE(std::fabs(found - p), 3 * 0x1p-22 * std::fabs(z) * density + 0x1p-50) << word << " " << z;
    const double t = math::truncated_normal_from_bits<math::Float>(word).value;
    const double wanted = cut + (1 - 2 * cut) * p;
    ASSERT_LE(std::fabs(0.5 * std::erfc(-t * M_SQRT1_2) - wanted),
              3 * 0x1p-22 * std::fabs(t) * std::exp(-t * t / 2) / root_pi + 0x1p-50)
        << word << " " << t;
  };
  for (uint64_t u = 0; u < uint64_t{1} << 31; u += 20011) check(static_cast<uint32_t>(u));
  for (uint32_t u = 0; u < 5000; ++u) check(u);
}

}  // namespace
