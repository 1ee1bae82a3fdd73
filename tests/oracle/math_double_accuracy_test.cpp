// The promises of docs/NUMERICS.md for the binary64 functions against MPFR: random operands of every exponent and of
// where each function is neither constant nor linear, and the neighbourhoods of the places where formulations change.
#include <gtest/gtest.h>
#include <boost/random/mersenne_twister.hpp>
#include <boost/random/uniform_real_distribution.hpp>

#include <cmath>
#include <string>
#include <vector>

#include "softamp/numerics/math_double.h"
#include "tests/oracle/math_oracle.h"
#include "tests/slice.h"

namespace {

using namespace oracle;
using namespace softamp;
using kernel::Function;

struct DoubleRow {
  Function function;
  double (*value)(double);
  double ulps;          ///< |result - exact| <= ulps ulp(exact), an ulp being 2^-1074 at the least
  double low, high;     ///< where its results are worth looking at
  double absolute = 0;  ///< added to the bound, for functions that cross 0 elsewhere than at 0
};

#define SOFTAMP_ROW(name, body, ulps, ...)                                                         \
  DoubleRow {                                                                                      \
    Function::name, +[](double x) { return math::body(math::Double(x)).value; }, ulps, __VA_ARGS__ \
  }
const DoubleRow kRows[] = {
    SOFTAMP_ROW(kExp, exp, 0.5001, -746, 710),
    SOFTAMP_ROW(kExpm1, expm1, 0.5001, -40, 710),
    SOFTAMP_ROW(kExp2, exp2, 0.5001, -1076, 1024),
    SOFTAMP_ROW(kLog, log, 0.5001, 0, 4),
    SOFTAMP_ROW(kLog1p, log1p, 0.5001, -1, 4),
    SOFTAMP_ROW(kTanh, tanh, 0.5001, -22, 22),
    SOFTAMP_ROW(kSigmoid, sigmoid, 0.5001, -746, 40),
    SOFTAMP_ROW(kSoftplus, softplus, 0.5001, -746, 40),
    SOFTAMP_ROW(kElu, elu, 0.5001, -40, 1),
    SOFTAMP_ROW(kSelu, selu, 0.5001, -40, 4),
    SOFTAMP_ROW(kErf, erf, 0.5001, -6, 6),
    SOFTAMP_ROW(kErfc, erfc, 0.5001, -6, 27.4),
    SOFTAMP_ROW(kNormalCdf, normal_cdf, 0.5001, -38.6, 9),
    SOFTAMP_ROW(kNormalPdf, normal_pdf, 0.5001, -38.6, 38.6),
    SOFTAMP_ROW(kGelu, gelu, 0.5001, -38.6, 9),
    SOFTAMP_ROW(kGeluTanh, gelu_tanh, 0.5001, -21.7, 9),
    SOFTAMP_ROW(kGeluGradient, gelu_gradient, 0.5001, -38.6, 9, 0x1p-66),
    SOFTAMP_ROW(kGeluTanhGradient, gelu_tanh_gradient, 0.5001, -21.7, 9, 0x1p-66),
};
#undef SOFTAMP_ROW

std::vector<double> operands_of(const DoubleRow& row) {
  boost::random::mt19937_64 random(static_cast<uint64_t>(row.function) + 1);
  std::vector<double> xs;
  for (int i = 0; i < 8000; ++i) xs.push_back(__builtin_bit_cast(double, random()));
  boost::random::uniform_real_distribution<double> inside(row.low, row.high), near(-1.5, 1.5), exponent(-80, 6);
  for (int i = 0; i < 8000; ++i) xs.push_back(inside(random));
  for (int i = 0; i < 4000; ++i) xs.push_back(near(random));
  for (int i = 0; i < 4000; ++i) xs.push_back(std::ldexp(near(random), static_cast<int>(exponent(random))));
  for (int i = 0; i < 1000; ++i) xs.push_back(1 + near(random) * std::ldexp(1.0, -static_cast<int>(random() % 52)));
  for (const double x : {0x1p-1074,
                         0x1p-1022,
                         0x1p-1021,
                         0x1p-500,
                         0x1p-54,
                         0x1p-53,
                         0x1p-28,
                         0x1p-27,
                         0.34657359027997264,
                         0.5,
                         0.625,
                         0.70710678118654752,
                         0.75179152469356446,
                         0.7524614220710162,
                         0.75,
                         1.0,
                         1.0397207708399179,
                         1.4142135623730951,
                         2.0,
                         5.9,
                         6.0,
                         8.0,
                         8.3,
                         9.0,
                         18.4,
                         18.7,
                         19.06,
                         21.6,
                         22.0,
                         26.55,
                         27.23,
                         36.0,
                         36.7,
                         37.5,
                         38.4,
                         38.5,
                         40.0,
                         60.0,
                         708.39641853226408,
                         709.78271289338397,
                         744.44007192138126,
                         745.13321910194122,
                         1022.0,
                         1023.0,
                         1024.0,
                         1074.0,
                         1075.0,
                         0x1p+53,
                         0x1p+500,
                         0x1p+1000,
                         0x1.fffffffffffffp+1023})
    for (int i = -12; i <= 12; ++i)
      for (const uint64_t sign : {uint64_t{0}, uint64_t{1} << 63}) {
        const uint64_t code = __builtin_bit_cast(uint64_t, x);
        if (i < 0 && code < 12) continue;
        xs.push_back(__builtin_bit_cast(double, (code + static_cast<uint64_t>(static_cast<int64_t>(i))) | sign));
      }
  return xs;
}

double ulp64(double exact) {
  const int exponent = exact == 0 ? -2000 : std::ilogb(exact);
  return std::ldexp(1.0, (exponent < -1022 ? -1022 : exponent) - 52);
}

TEST(MathDoubleAccuracy, EveryRowOfTheTable) {
  softamp::test::Slice slice(4);
  for (const DoubleRow& row : kRows) {
    if (!slice.takes()) continue;
    const auto& judge = softamp::test::judged<MpfrNumber>(row.function);
    double worst = 0, worst_at = 0, worst_subnormal = 0;
    int differing = 0, judged = 0;
    for (const double x : operands_of(row)) {
      if (!std::isfinite(x) || !(x > judge.row.least && x < judge.row.most)) continue;
      const MpfrNumber exact = judge.value(MpfrNumber(x));
      const double y = row.value(x), nearest = exact.nearest();
      ++judged;
      differing += y != nearest;
      if (std::isinf(nearest) || std::isinf(y)) {
        ASSERT_EQ(y, nearest) << judge.row.name() << " of " << x;
        continue;
      }
      const double allowed = row.ulps + row.absolute / ulp64(nearest);
      const double error = std::fabs(((exact - y) / ulp64(exact.odd())).nearest());
      ASSERT_LE(error, allowed) << judge.row.name() << " of " << std::hexfloat << x << ", found " << y << ", nearest "
                                << nearest;
      if (std::fabs(nearest) < 0x1p-1022) worst_subnormal = std::max(worst_subnormal, error);
      if (error > worst && row.absolute < std::fabs(nearest) * 0x1p-60) {
        worst = error;
        worst_at = x;
      }
    }
    std::printf("%-18s worst %.6f ulp at %a, subnormal %.6f; not nearest: %d of %d\n", judge.row.name(), worst,
                worst_at, worst_subnormal, differing, judged);
    EXPECT_GT(worst, 0.49) << judge.row.name() << ": a function without error? The judge is asleep";
    RecordProperty(judge.row.name(), std::to_string(worst));
  }
}

}  // namespace
