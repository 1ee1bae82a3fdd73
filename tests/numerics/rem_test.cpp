// The IEEE remainder: rows by hand, every pair of fp8 codes and random fp16 and fp32 pairs against std::remainder.
#include <gtest/gtest.h>

#include <cmath>

#include "softamp/numerics/operations.h"
#include "softamp/numerics/unit.h"
#include "tests/oracle/cases.h"
#include "tests/oracle/exact_operations.h"
#include "tests/oracle/fp16_oracle.h"

namespace {

using namespace softamp;

/// std::remainder is exact in binary64, and the remainder of two numbers of a format fits that format.
void check_remainder(const FloatFormat& f, const char* name, uint64_t a, uint64_t b) {
  const double x = fp::to_double(f, a), y = fp::to_double(f, b);
  const Rounded got = fp::rem(f, a, b, Semantics::ieee());
  const bool undefined = !std::isnan(x) && !std::isnan(y) && (std::isinf(x) || y == 0);
  const double r = std::remainder(x, y);
  const uint64_t expected = fp::from_double(f, std::isnan(r) ? NAN : r);
  ASSERT_EQ(got.code, expected) << name << std::hex << " " << a << " " << b;
  ASSERT_EQ(int{got.flags}, undefined || f.is_signaling_nan(a) || f.is_signaling_nan(b) ? int{kInvalid} : 0)
      << name << std::hex << " " << a << " " << b;
}

// tests: N34, N42
TEST(Rem, ByHand) {
  const auto rem = [](double x, double y) {
    return fp::to_double(kFp16,
                         fp::rem(kFp16, fp::from_double(kFp16, x), fp::from_double(kFp16, y), Semantics::ieee()).code);
  };
  EXPECT_EQ(rem(5, 3), -1);
  EXPECT_EQ(rem(4, 3), 1);
  EXPECT_EQ(rem(3, 2), -1);  // 1.5: the tie goes to 2
  EXPECT_EQ(rem(1, 2), 1);   // 0.5: the tie goes to 0
  EXPECT_EQ(rem(-5, 3), 1);
  EXPECT_EQ(rem(65504, 0x1p-24), 0);
  EXPECT_TRUE(std::signbit(rem(-6, 3)));  // a zero has the sign of x
  EXPECT_FALSE(std::signbit(rem(6, -3)));
  EXPECT_EQ(rem(7, INFINITY), 7);
  EXPECT_TRUE(std::signbit(rem(-0.0, 7)));
}

// tests: G33, N34, N42
TEST(Rem, SpecialsOfBothPresets) {
  // TUTORIAL G33: with inv on, a worker stops after x REM 0 and after inf REM y.
  FloatingPointBehaviour inv = FloatingPointBehaviour::all_off();
  inv.inv = true;
  const auto stops_on = [&inv](uint16_t x, uint16_t y) {
    FpUnit unit(inv);
    unit.execute(UnitOp::kRem, Half::from_bits(x), Half::from_bits(y));
    return int{unit.exception().flags};
  };
  EXPECT_EQ(stops_on(0x3C00, 0x0000), int{kInvalid});
  EXPECT_EQ(stops_on(0x7C00, 0x3C00), int{kInvalid});
  EXPECT_EQ(stops_on(0x4200, 0x3C00), 0) << "3 REM 1";
  for (const bool ipu : {false, true}) {
    const Semantics s = ipu ? Semantics::ipu() : Semantics::ieee();
    for (const uint64_t x : {0x0000u, 0x3C00u, 0xFBFFu, 0x8001u}) {
      EXPECT_EQ(fp::rem(kFp16, x, 0x8000, s).code, 0x7E00u) << "x REM 0";
      EXPECT_EQ(int{fp::rem(kFp16, x, 0x8000, s).flags}, int{kInvalid}) << "x REM 0 is not a division by zero";
      EXPECT_EQ(fp::rem(kFp16, 0x7C00, x, s).code, 0x7E00u) << "Inf REM y";
      EXPECT_EQ(int{fp::rem(kFp16, 0x7C00, x, s).flags}, int{kInvalid});
      EXPECT_EQ(int{fp::rem(kFp16, x, 0x7E00, s).flags}, ipu ? int{kInvalid} : 0) << "quiet NaN";
    }
  }
}

TEST(Rem, EveryPairOfFp8Codes) {
  for (const auto& [name, f] : oracle::kNamedFormats) {
    if (f.storage_bits() > 8) continue;
    for (uint64_t a = 0; a < 256 && !HasFailure(); ++a)
      for (uint64_t b = 0; b < 256; ++b) check_remainder(f, name, a, b);
  }
}

TEST(Rem, RandomPairsOfEveryFormat) {
  oracle::Cases cases(51);
  for (int i = 0; i < 40000 && !HasFailure(); ++i)
    for (const auto& [name, f] : oracle::kNamedFormats) {
      const uint64_t a = cases.code(f);
      check_remainder(f, name, a, cases.partner(f, a));
    }
}

TEST(Rem, Fp16AgainstIntegers) {
  oracle::Cases cases(52);
  const auto nearest = oracle::Machine::ieee(RoundingMode::kNearestEven);
  for (int i = 0; i < 400000; ++i) {
    const auto a = static_cast<uint32_t>(cases.code(kFp16)), b = static_cast<uint32_t>(cases.partner(kFp16, a));
    const oracle::Outcome o = oracle::rem(a, b, nearest);
    const Rounded got = fp::rem(kFp16, a, b, Semantics::ieee());
    ASSERT_TRUE(got.code == o.code && got.flags == o.flags) << std::hex << a << " " << b;
  }
}

/// Operands at the two ends of the range: the quotient has hundreds of bits.
TEST(Rem, FarApart) {
  oracle::Cases cases(53);
  for (int i = 0; i < 2000 && !HasFailure(); ++i) {
    const uint64_t a = 0x7F000000 | (cases.word() & 0x807FFFFF), b = cases.word() & 0x80FFFFFF;
    for (const RoundingMode mode : oracle::kDeterministicModes) {
      const Semantics s = Semantics::ieee(RoundingPolicy::ieee(mode));
      const Rounded got = fp::rem(kFp32, a, b, s), expected = oracle::exact::rem(kFp32, a, b, s);
      ASSERT_TRUE(got.code == expected.code && got.flags == expected.flags) << std::hex << a << " " << b;
    }
  }
}

}  // namespace
