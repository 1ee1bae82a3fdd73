// Cases that planted bugs showed to be missing elsewhere; each names the bug that no other test saw.
#include <gtest/gtest.h>

#include <string>

#include "softamp/numerics/half.h"
#include "softamp/numerics/status.h"

namespace softamp {
namespace {
using literals::operator""_h;
using literals::operator""_bf16;

// Bug: the index of the last element instead of the lowest.
TEST(PlantedGaps, ALaterElementDoesNotMoveTheIndex) {
  FpStatus s;
  s.raise(kOverflow, 7);
  s.raise(kOverflow, 12);
  EXPECT_EQ(s.lowest_index(kOverflow), 7u);
}

// Bug: digits beyond those that are kept do not scale the number when they stand before the point.
// tests: N80
TEST(PlantedGaps, ManyDigitsBeforeThePoint) {
  const ParsedNumber n = parse_number("1" + std::string(1000, '0') + "e-1000");
  EXPECT_EQ(to_code(kFp16, n).code, 0x3C00u);
  EXPECT_EQ(
      to_code(kFp16, parse_number("1" + std::string(999, '0') + "1.5e-1000"), RoundingPolicy::ieee(RoundingMode::kUp))
          .code,
      0x3C01u);
}

// Bug: a literal rounded to fp32 first. 1 + 2^-11 is a tie of fp16; what lies above it by 1e-27 is lost in fp32.
TEST(PlantedGaps, LiteralsRoundOnce) {
  EXPECT_EQ((1.000488281250000000000000001_h).bits(), 0x3C01);
  EXPECT_EQ((1.00048828125_h).bits(), 0x3C00);
  EXPECT_EQ((1.00390625000000000000000001_bf16).bits(), 0x3F81);
}

// Bug: half division and roots of the IPU preset rounded from the exact value. In fp16 quanta 1/3 is 0x3555 and a
// third, whose 13 bits are 2730 exactly but 2731 in fp32, rounded up there; so R = 2^13 - 2731 tells. The root of 5 is
// 0x4078 and 7100.86 / 2^13, in fp32 7101 / 2^13.
// tests: N51
TEST(PlantedGaps, HalvesDivideByWayOfFp32) {
  FloatingPointBehaviour b = FloatingPointBehaviour::all_off();
  b.esr = true;
  const Semantics ipu = Semantics::ipu(b), exact = Semantics::ieee(RoundingPolicy::stochastic_carry(13));
  constexpr uint32_t kLast = (1u << 13) - 2731;
  EXPECT_EQ(fp::div(kFp16, 0x3C00, 0x4200, ipu, kLast).code, 0x3556u);
  EXPECT_EQ(fp::div(kFp16, 0x3C00, 0x4200, ipu, kLast - 1).code, 0x3555u);
  EXPECT_EQ(fp::div(kFp16, 0x3C00, 0x4200, exact, kLast).code, 0x3555u);
  EXPECT_EQ(fp::div(kFp16, 0x3C00, 0x4200, exact, kLast + 1).code, 0x3556u);
  EXPECT_EQ(fp::sqrt(kFp16, 0x4500, ipu, (1u << 13) - 7101).code, 0x4079u);
  EXPECT_EQ(fp::sqrt(kFp16, 0x4500, ipu, (1u << 13) - 7102).code, 0x4078u);
  EXPECT_EQ(fp::sqrt(kFp16, 0x4500, exact, (1u << 13) - 7101).code, 0x4078u);
}

// Bug: quotients and roots with fewer bits than the random ones read. In quanta of its format 1/3 has d 2^32 =
// 0x55555555.5..., and the root of 2 in fp32 d 2^13 = 1663.3..., whose last five bits are ones.
TEST(PlantedGaps, QuotientsAndRootsHaveEveryBitThatIsRead) {
  const auto carry = [](int bits) { return Semantics::ieee(RoundingPolicy::stochastic_carry(bits)); };
  EXPECT_EQ(fp::div(kFp16, 0x3C00, 0x4200, carry(32), 0u - 0x55555555u).code, 0x3556u);
  EXPECT_EQ(fp::div(kFp16, 0x3C00, 0x4200, carry(32), 0u - 0x55555556u).code, 0x3555u);
  EXPECT_EQ(fp::sqrt(kFp32, 0x40000000, carry(13), 8192 - 1663).code, 0x3FB504F4u);
  EXPECT_EQ(fp::sqrt(kFp32, 0x40000000, carry(13), 8192 - 1664).code, 0x3FB504F3u);
}

}  // namespace
}  // namespace softamp
