// One worker's unit: registers, sticky flags, exceptions, and the draws of its generator.
#include "softamp/numerics/unit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace softamp {
namespace {
using literals::operator""_h;

FloatingPointBehaviour only(bool FloatingPointBehaviour::*flag) {
  FloatingPointBehaviour b = FloatingPointBehaviour::all_off();
  b.*flag = true;
  return b;
}
constexpr uint32_t kInv = StatusRegister::kInv, kDiv0 = StatusRegister::kDiv0, kOflo = StatusRegister::kOflo;

constexpr uint16_t saturated() {
  FpUnit unit;
  return unit.mul(Half(10000.0F), Half(10000.0F)).bits();
}
static_assert(saturated() == 0x7BFF, "a unit is usable in constant expressions");

TEST(FpUnit, OneFlagAtATime) {  // as the device's own tests set them
  FpUnit off;
  EXPECT_EQ(off.mul(10000_h, 10000_h).bits(), 0x7BFF);
  EXPECT_EQ(off.get(Csr::kFpSts), kOflo);
  EXPECT_EQ(off.div(10000_h, 0_h).bits(), 0x7E00);
  EXPECT_EQ(off.get(Csr::kFpSts), kOflo | kDiv0);
  EXPECT_EQ(off.to_int32(std::numeric_limits<float>::quiet_NaN()), INT32_MIN);
  EXPECT_EQ(off.get(Csr::kFpSts), kOflo | kDiv0 | kInv);
  EXPECT_FALSE(off.excepted()) << "nothing stops a unit whose exceptions are off";

  FpUnit oflo(only(&FloatingPointBehaviour::oflo));
  EXPECT_EQ(oflo.mul(10000_h, 10000_h).bits(), 0x7BFF);
  EXPECT_TRUE(oflo.excepted());
  FpUnit div0(only(&FloatingPointBehaviour::div0));
  div0.mul(10000_h, 10000_h);
  EXPECT_FALSE(div0.excepted());
  div0.div(10000_h, 0_h);
  EXPECT_EQ(div0.exception().flags, kDivideByZero);
  FpUnit inv(only(&FloatingPointBehaviour::inv));
  inv.to_int32(std::numeric_limits<float>::quiet_NaN());
  EXPECT_EQ(inv.exception().flags, kInvalid);
  FpUnit nanoo(only(&FloatingPointBehaviour::nanoo));
  EXPECT_EQ(nanoo.mul(10000_h, 10000_h).bits(), 0x7E00);
  EXPECT_EQ(nanoo.get(Csr::kFpSts), kOflo | kInv);
  EXPECT_FALSE(nanoo.excepted());
}

TEST(FpUnit, FloatsToo) {
  FpUnit unit(FloatingPointBehaviour{});
  EXPECT_EQ(unit.mul(1e30F, 1e30F), std::numeric_limits<float>::infinity());
  EXPECT_EQ(unit.exception().flags, kOverflow);
  FpUnit off;
  EXPECT_EQ(off.div(1.0F, std::numeric_limits<float>::denorm_min()), std::numeric_limits<float>::infinity());
  EXPECT_EQ(off.get(Csr::kFpSts), kDiv0) << "a subnormal divisor counts as zero";
  EXPECT_EQ(off.mul(0x1p-100F, 0x1p-30F), 0.0F) << "a subnormal result is flushed";
  EXPECT_TRUE(std::signbit(off.mul(-0x1p-100F, 0x1p-30F)));
  EXPECT_EQ(off.get(Csr::kFpSts), kDiv0);
}

// tests: N57
TEST(FpUnit, ExceptionNamesTheLowestLaneThatStops) {
  FpUnit unit(only(&FloatingPointBehaviour::oflo));
  const Half a[4] = {1_h, Half::from_bits(0x7E00), 60000_h, 60000_h}, b[4] = {1_h, 1_h, 60000_h, 60000_h};
  Half out[4];
  unit.execute(UnitOp::kMul, 4, out, a, b);
  EXPECT_EQ(out[3].bits(), 0x7BFF) << "every lane has its result";
  const UnitException& e = unit.exception();
  EXPECT_EQ(e.lane, 2) << "lane 1 raised inv, which is not enabled";
  EXPECT_EQ(e.flags, kOverflow | kInvalid);
  EXPECT_STREQ(e.operation, "mul");
  EXPECT_EQ(e.operand_count, 2);
  EXPECT_EQ(e.operands[0], (60000_h).bits());
  unit.add(65504_h, 65504_h);
  EXPECT_STREQ(unit.exception().operation, "mul") << "the first exception stays";
  unit.clear_exception();
  EXPECT_FALSE(unit.excepted());
}

TEST(FpUnit, ClearLaunchAndRefusedWords) {
  FpUnit unit;
  unit.mul(10000_h, 10000_h);
  unit.div(1_h, 0_h);
  EXPECT_TRUE(unit.put(Csr::kFpClr, kOflo));
  EXPECT_EQ(unit.get(Csr::kFpSts), kDiv0);
  EXPECT_EQ(unit.get(Csr::kFpClr), 0u);
  EXPECT_FALSE(unit.put(Csr::kFpSts, 0));
  EXPECT_FALSE(unit.put(Csr::kFpClr, 16));
  EXPECT_FALSE(unit.put(Csr::kFpCtl, 1u << 16)) << "RND other than 0";
  EXPECT_FALSE(unit.put(Csr::kFpCtl, 1u << 31));
  EXPECT_EQ(unit.get(Csr::kFpCtl), 0u);

  unit.put(Csr::kPrngSeed, 1);
  const Xoroshiro128aox before = unit.prng();
  EXPECT_FALSE(unit.launch(1u << 17));
  EXPECT_EQ(unit.get(Csr::kFpSts), kDiv0) << "a refused launch does nothing";
  EXPECT_TRUE(unit.launch(0x180007));
  EXPECT_EQ(unit.get(Csr::kFpSts), 0u);
  EXPECT_EQ(unit.behaviour(), FloatingPointBehaviour{});
  EXPECT_EQ(unit.prng(), before) << "the generator survives a launch";
}

TEST(FpUnit, PrngRegisters) {
  FpUnit unit;
  unit.put(Csr::kPrngSeed, 0xDEADBEEF);
  EXPECT_EQ(unit.get(Csr::kPrngSeed), 0u);
  EXPECT_EQ(unit.get(Csr::kPrng00), 0xDEADBEEFu);
  EXPECT_EQ(unit.get(Csr::kPrng01), 0x21524110u);
  EXPECT_EQ(unit.get(Csr::kPrng10), 0xB7DDE42Au);
  EXPECT_EQ(unit.get(Csr::kPrng11), 0x48221BD5u);
  EXPECT_EQ(unit.urand64(), 0x697C5CA6164F8239u);
  EXPECT_EQ(unit.urand32(), 0x1EB3D820u);
  unit.put(Csr::kPrng10, 7);
  EXPECT_EQ(unit.get(Csr::kPrng10), 7u);
}

FpUnit stochastic(uint32_t seed, const IpuSwitches& switches = {}) {
  FpUnit unit(only(&FloatingPointBehaviour::esr), switches);
  unit.put(Csr::kPrngSeed, seed);
  return unit;
}

TEST(FpUnit, RoundingVectors) {  // four consecutive draws after PRNG_SEED = 0xdeadbeef
  FpUnit unit = stochastic(0xDEADBEEF);
  const auto round = [&](float a, float b, float c, float d) {
    const float in[4] = {a, b, c, d};
    Half out[4];
    unit.to_half(4, out, in);
    return uint64_t{out[0].bits()} << 48 | uint64_t{out[1].bits()} << 32 | uint64_t{out[2].bits()} << 16 |
           out[3].bits();
  };
  EXPECT_EQ(round(1 + 0x1p-11F, 1 + 0x1p-11F, 1 + 0x1p-11F, 1 + 0x1p-11F), 0x3C013C003C003C00u);
  EXPECT_EQ(unit.get(Csr::kFpSts), 0u);
  EXPECT_EQ(round(65520, 65520, -65520, 65504), 0x7BFF7BFFFBFF7BFFu);
  EXPECT_EQ(unit.get(Csr::kFpSts), kOflo);
  EXPECT_EQ(round(0x1p-25F, -0x1p-25F, 3 * 0x1p-26F, 0x1p-24F), 0x0000800000010001u);
  EXPECT_EQ(round(1 + 3 * 0x1p-12F, -(1 + 0x1p-12F), 2049, 1.0F / 3), 0x3C01BC0068013555u);
}

TEST(FpUnit, EndValuesOfTheRunningSum) {
  const struct {
    uint32_t seed;
    uint16_t end[4];
  } rows[] = {{1, {0x3BF3, 0x3C1B, 0x3BEA, 0x3BEE}}, {0xDEADBEEF, {0x3C0B, 0x3C21, 0x3BE4, 0x3BD7}}};
  for (const auto& row : rows) {
    FpUnit unit = stochastic(row.seed);
    Half sum[4], addend[4];
    for (Half& x : addend) x = 0.0001_h;
    for (int i = 0; i < 10000; ++i) unit.execute(UnitOp::kAdd, 4, sum, sum, addend);
    for (int lane = 0; lane < 4; ++lane) EXPECT_EQ(sum[lane].bits(), row.end[lane]);
  }
}

// tests: N73
TEST(FpUnit, DrawsOncePerRoundedGroupAndOnlyThen) {
  FpUnit unit = stochastic(1);
  Xoroshiro128aox expected = unit.prng();
  unit.add(1_h, 1_h);  // exact, and yet a draw
  expected.discard(1);
  EXPECT_EQ(unit.prng(), expected);
  unit.add(1.0F, 1e-9F);
  unit.execute(UnitOp::kMin, 1_h, 2_h);
  unit.to_float(1_h);
  unit.equal(1_h, 1_h);
  EXPECT_EQ(unit.prng(), expected) << "floats, selections and comparisons round no half";
  unit.set_behaviour(FloatingPointBehaviour::all_off());
  unit.add(1_h, 0.0001_h);
  EXPECT_EQ(unit.prng(), expected) << "nothing is drawn with ESR off";
}

TEST(FpUnit, DrawSwitches) {
  IpuSwitches inexact_only;
  inexact_only.sr_advance = DrawAdvance::kOnlyWhenInexact;
  FpUnit unit = stochastic(1, inexact_only);
  Xoroshiro128aox expected = unit.prng();
  unit.add(1_h, 1_h);
  EXPECT_EQ(unit.prng(), expected);
  unit.add(1_h, 0.0001_h);
  expected.discard(1);
  EXPECT_EQ(unit.prng(), expected);
  unit.div(1_h, 3_h);
  unit.mul(60000_h, 60000_h);
  expected.discard(2);
  EXPECT_EQ(unit.prng(), expected);

  IpuSwitches when_off;
  when_off.sr_draw_when_off = true;
  FpUnit drawing(FloatingPointBehaviour::all_off(), when_off);
  expected = drawing.prng();
  drawing.add(1_h, 1_h);
  expected.discard(1);
  EXPECT_EQ(drawing.prng(), expected);
}

// tests: N57
TEST(FpUnit, StatusSwitch) {  // sts_when_disabled
  IpuSwitches w;
  w.sts_when_disabled = false;
  FpUnit unit(only(&FloatingPointBehaviour::oflo), w);
  unit.div(1_h, 0_h);
  EXPECT_EQ(unit.get(Csr::kFpSts), 0u);
  unit.mul(10000_h, 10000_h);
  EXPECT_EQ(unit.get(Csr::kFpSts), kOflo);
}

TEST(FpUnit, Urand32Switch) {
  for (const Urand32Half half : {Urand32Half::kLow, Urand32Half::kHigh, Urand32Half::kXor}) {
    IpuSwitches w;
    w.urand32_half = half;
    FpUnit unit(FloatingPointBehaviour::all_off(), w);
    unit.put(Csr::kPrngSeed, 0xDEADBEEF);
    const uint32_t expected[] = {0x164F8239, 0x697C5CA6, 0x164F8239 ^ 0x697C5CA6};
    EXPECT_EQ(unit.urand32(), expected[static_cast<int>(half)]);
  }
}

TEST(FpUnit, ComparisonsRaiseInvForAnyNan) {
  FpUnit unit;
  const Half nan = Half::from_bits(0x7E00);
  EXPECT_TRUE(unit.less(1_h, 2_h) && unit.less_equal(2_h, 2_h) && unit.equal(-0.0_h, 0_h));
  EXPECT_EQ(unit.get(Csr::kFpSts), 0u);
  EXPECT_FALSE(unit.equal(nan, nan));
  EXPECT_EQ(unit.get(Csr::kFpSts), kInv);
}

}  // namespace
}  // namespace softamp
