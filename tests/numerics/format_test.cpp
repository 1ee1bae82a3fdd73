// Formats are data and their limits derived: each limit is compared with the published figure, and the derivation
// with its definition over every format (e, p).
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "softamp/numerics/convert.h"
#include "softamp/numerics/format.h"

namespace softamp {
namespace {

double value(const FloatFormat& f, uint64_t code) { return fp::to_double(f, code); }

// tests: G01, N1, N3, N4, X2
TEST(Format, PublishedLimits) {
  // TUTORIAL G01, X2: binary16 and binary32 among them
  struct Row {
    FloatFormat format;
    int bits;
    double greatest, min_normal, min_subnormal;
  };
  const Row rows[] = {
      {kFp16, 16, 65504, 0x1p-14, 0x1p-24},
      {kBf16, 16, 0x1.fep127, 0x1p-126, 0x1p-133},
      {kTf32, 19, 0x1.ffcp127, 0x1p-126, 0x1p-136},
      {kFp32, 32, 0x1.fffffep127, 0x1p-126, 0x1p-149},
      {kE4m3, 8, 448, 0x1p-6, 0x1p-9},
      {kE5m2, 8, 57344, 0x1p-14, 0x1p-16},
      {kF143, 8, 240, 0x1p-7, 0x1p-10},
      {kF152, 8, 57344, 0x1p-15, 0x1p-17},
      {kE2m1, 4, 6, 1, 0.5},
      {kE2m3, 6, 7.5, 1, 0x1p-3},
      {kE3m2, 6, 28, 0x1p-2, 0x1p-4},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(row.format.storage_bits(), row.bits);
    EXPECT_EQ(value(row.format, row.format.max_finite_code()), row.greatest);
    EXPECT_EQ(value(row.format, row.format.min_normal_code()), row.min_normal);
    EXPECT_EQ(value(row.format, row.format.min_subnormal_code()), row.min_subnormal);
    EXPECT_EQ(std::ldexp(1.0, row.format.min_exponent()), row.min_normal);
    EXPECT_EQ(std::ldexp(1.0, row.format.min_quantum()), row.min_subnormal);
    EXPECT_EQ(std::ilogb(row.greatest), row.format.max_exponent());
  }
}

TEST(Format, Binary64IsTheHosts) {
  EXPECT_EQ(value(kBinary64, kBinary64.max_finite_code()), std::numeric_limits<double>::max());
  EXPECT_EQ(value(kBinary64, kBinary64.min_normal_code()), std::numeric_limits<double>::min());
  EXPECT_EQ(value(kBinary64, kBinary64.min_subnormal_code()), std::numeric_limits<double>::denorm_min());
}

// tests: N2, N3, N25
TEST(Format, SpecialCodes) {
  EXPECT_TRUE(kFp16.is_nan(0x7C01) && kFp16.is_signaling_nan(0x7C01) && kFp16.is_signaling_nan(0xFDFF));
  EXPECT_TRUE(kFp16.is_nan(0x7E00) && !kFp16.is_signaling_nan(0x7E00));
  EXPECT_TRUE(kFp16.is_infinity(0x7C00) && kFp16.is_infinity(0xFC00) && !kFp16.is_nan(0x7C00));
  EXPECT_FALSE(kFp16.is_finite(0x7C00) || kFp16.is_finite(0x7C01));
  EXPECT_TRUE(kFp16.is_finite(0x7BFF) && kFp16.is_zero(0x8000) && kFp16.has_negative_zero());
  EXPECT_TRUE(kFp16.is_subnormal(0x83FF) && !kFp16.is_subnormal(0x0400) && !kFp16.is_subnormal(0x8000));

  EXPECT_FALSE(kE4m3.has_infinity());
  EXPECT_TRUE(kE4m3.is_nan(0x7F) && kE4m3.is_nan(0xFF) && !kE4m3.is_nan(0x7E) && !kE4m3.is_signaling_nan(0x7F));
  EXPECT_TRUE(kE5m2.has_infinity() && kE5m2.is_infinity(0x7C) && kE5m2.is_nan(0x7D));
  for (const FloatFormat& f : {kF143, kF152}) {
    EXPECT_TRUE(f.is_nan(0x80) && !f.is_nan(0x7F) && !f.is_nan(0xFF) && !f.has_infinity());
    EXPECT_TRUE(f.is_zero(0) && !f.is_zero(0x80) && !f.has_negative_zero());
  }
  for (const FloatFormat& f : {kE2m1, kE2m3, kE3m2}) {
    EXPECT_TRUE(f.valid() && !f.has_infinity() && !f.has_nan() && f.has_negative_zero());
    for (uint64_t code = 0; code <= f.code_mask(); ++code) EXPECT_TRUE(f.is_finite(code) && !f.is_nan(code));
  }
}

TEST(Format, EveryExponentWidthAndPrecision) {
  for (int e = 2; e <= 8; ++e)
    for (int p = 2; p <= 24; ++p) {
      const FloatFormat f = FloatFormat::ieee(e, p);
      ASSERT_TRUE(f.valid());
      const int emax = (1 << (e - 1)) - 1;
      EXPECT_EQ(f.max_exponent(), emax);
      EXPECT_EQ(f.min_exponent(), 1 - emax);
      EXPECT_EQ(value(f, f.max_finite_code()), std::ldexp(2 - std::ldexp(1, 1 - p), emax));
      EXPECT_EQ(value(f, f.infinity_code()), std::numeric_limits<double>::infinity());
      EXPECT_TRUE(std::isnan(value(f, f.infinity_code() | f.quiet_bit())));
      EXPECT_EQ(f.max_finite_code() + 1, f.infinity_code());
      EXPECT_EQ(value(f, f.min_subnormal_code()), std::ldexp(1, 2 - emax - p));
    }
  EXPECT_FALSE(FloatFormat::ieee(9, 11).valid());
  EXPECT_FALSE(FloatFormat::ieee(1, 11).valid());
  EXPECT_FALSE(FloatFormat::ieee(5, 1).valid());
  EXPECT_FALSE(FloatFormat::ieee(5, 25).valid());
  EXPECT_FALSE(FloatFormat::ieee(11, 52).valid());
}

}  // namespace
}  // namespace softamp
