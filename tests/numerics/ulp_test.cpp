// Distances between numbers: counted step by step through every format of 8 bits, and through fp16.
#include "softamp/numerics/ulp.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "softamp/numerics/convert.h"

namespace softamp {
namespace {

double value(const FloatFormat& f, uint64_t code) {
  return __builtin_bit_cast(double, fp::convert(f, kBinary64, code, Semantics::ieee()).code);
}

TEST(UlpDistance, CountsNeighbours) {
  for (const FloatFormat& f : {kE4m3, kE5m2, kF143, kF152, FloatFormat::ieee(3, 4), kFp16}) {
    // The numbers in ascending order, each value once.
    std::vector<uint64_t> codes;
    for (uint64_t code = 0; code <= f.code_mask(); ++code)
      if (!f.is_nan(code) && !(f.has_negative_zero() && code == f.sign_mask())) codes.push_back(code);
    std::sort(codes.begin(), codes.end(), [&](uint64_t a, uint64_t b) { return value(f, a) < value(f, b); });
    const size_t step = f.storage_bits() > 8 ? 251 : 1;
    for (size_t i = 0; i < codes.size(); i += step)
      for (size_t j = 0; j < codes.size(); j += step)
        ASSERT_EQ(ulp_distance(f, codes[i], codes[j]), i < j ? j - i : i - j) << codes[i] << " " << codes[j];
  }
}

TEST(UlpDistance, ZerosAndNaNs) {
  EXPECT_EQ(ulp_distance(kFp16, 0x8000, 0), 0u);
  EXPECT_EQ(ulp_distance(kFp16, 0x8001, 1), 2u);
  EXPECT_EQ(ulp_distance(kFp16, 0x7bff, 0x7c00), 1u) << "infinity";
  EXPECT_EQ(ulp_distance(kFp16, 0x7e00, 0x7e00), kNoUlpDistance);
  EXPECT_EQ(ulp_distance(kF143, 0x80, 0), kNoUlpDistance) << "the code of -0 is its NaN";
  EXPECT_EQ(ulp_distance(kBinary64, uint64_t{0x7ff} << 52, uint64_t{0xfff} << 52), uint64_t{0xffe} << 52);
}

}  // namespace
}  // namespace softamp
