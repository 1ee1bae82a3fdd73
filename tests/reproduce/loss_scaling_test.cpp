// Loss scaling: the prediction from exponents against numbers at every edge, and the short form.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "softamp/numerics/operations.h"
#include "src/reproduce/training/gradient_exponents.h"

namespace softamp::reproduce {
namespace {

/// Numbers at and beside each edge of `f`, times 2^-8.
std::vector<float> edges(const FloatFormat& f) {
  const double least = std::ldexp(1.0, f.min_quantum()), normal = std::ldexp(1.0, f.min_exponent());
  const double last = std::ldexp(2 - std::ldexp(1.0, 1 - f.precision), f.max_exponent());
  const double half = std::ldexp(1.0, f.max_exponent() - f.precision);
  std::vector<float> all{0.0f, -0.0f};
  for (const double edge : {least / 2, least, normal - least / 2, normal - least, normal, last, last + half})
    for (const double beside : {1 - 0x1p-23, 1.0, 1 + 0x1p-22})
      for (const double sign : {1.0, -1.0}) all.push_back(static_cast<float>(sign * edge * beside * 0x1p-8));
  return all;
}

TEST(LossScaling, PredictedFromExponentsIsCountedAtEveryEdge) {
  for (const FloatFormat& f : {kFp16, kE5m2, FloatFormat::ieee(5, 7)}) {
    const std::vector<float> values = edges(f);
    const ExponentTable table(values, f);
    EXPECT_EQ(table.nonzero(), static_cast<int64_t>(values.size()) - 2);
    for (int k = 0; k <= 40; ++k) {
      const Fate counted = count_fates(values, f, k);
      EXPECT_TRUE(counted == table.predict(k)) << f.precision << ' ' << k;
    }
    // The edges' own scale: at most half of the least number is zero, the tie too; from half a place above the last on
    // it overflows; one number below the normal ones rounds up to them.
    const Fate at_edges = count_fates(values, f, 8);
    EXPECT_EQ(at_edges.zero, 2 * 2);
    EXPECT_EQ(at_edges.overflow, 2 * 2);
  }
}

TEST(LossScaling, CountsAreThoseOfTheUnit) {
  const std::vector<float> values = edges(kFp16);
  for (const int k : {0, 4, 8, 12, 31}) {
    Fate fate;
    for (const float x : values) {
      if (x == 0) continue;
      const uint64_t code = fp::from_double(kFp16, std::ldexp(static_cast<double>(x), k));
      fate.zero += (code & 0x7FFF) == 0;
      fate.subnormal += (code & 0x7FFF) != 0 && (code & 0x7C00) == 0;
      fate.overflow += (code & 0x7FFF) == 0x7C00;
    }
    EXPECT_TRUE(fate == count_fates(values, kFp16, k)) << k;
  }
}

}  // namespace
}  // namespace softamp::reproduce
