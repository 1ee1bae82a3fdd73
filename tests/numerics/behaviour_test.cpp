// FloatingPointBehaviour, its control word, and what the presets make of it.
#include <gtest/gtest.h>

#include "softamp/numerics/semantics.h"

namespace softamp {
namespace {

// tests: N58
TEST(Behaviour, DefaultIsAllOnAsInPoplar) {
  EXPECT_EQ(ControlRegister::encode(FloatingPointBehaviour{}), 0x180007u);
  EXPECT_EQ(ControlRegister::encode(FloatingPointBehaviour::all_off()), 0u);
}

// tests: N56
TEST(Behaviour, BitPositions) {
  EXPECT_EQ(ControlRegister::encode({true, false, false, false, false}), 0x1u);
  EXPECT_EQ(ControlRegister::encode({false, true, false, false, false}), 0x2u);
  EXPECT_EQ(ControlRegister::encode({false, false, true, false, false}), 0x4u);
  EXPECT_EQ(ControlRegister::encode({false, false, false, true, false}), 0x80000u);
  EXPECT_EQ(ControlRegister::encode({false, false, false, false, true}), 0x100000u);
}

TEST(Behaviour, EveryWordRoundTrips) {
  for (int i = 0; i < 32; ++i) {
    const FloatingPointBehaviour b{(i & 1) != 0, (i & 2) != 0, (i & 4) != 0, (i & 8) != 0, (i & 16) != 0};
    EXPECT_EQ(ControlRegister::decode(ControlRegister::encode(b)), b);
    EXPECT_TRUE(ControlRegister::acceptable(ControlRegister::encode(b)));
    EXPECT_EQ(b.enabled_flags(), (b.inv ? kInvalid : 0) | (b.div0 ? kDivideByZero : 0) | (b.oflo ? kOverflow : 0));
  }
}

TEST(Behaviour, RefusesRoundingModesAndUnknownBits) {
  for (int bit = 0; bit < 32; ++bit) {
    const bool known = bit <= 2 || bit == 19 || bit == 20;
    EXPECT_EQ(ControlRegister::acceptable(1u << bit), known) << "bit " << bit;
  }
}

TEST(Semantics, IeeeHasOnePolicyEverywhere) {
  const Semantics s = Semantics::ieee(RoundingPolicy::stochastic_carry(11));
  EXPECT_EQ(s.wide, s.narrow);
  EXPECT_EQ(s.quarter, s.narrow);
  EXPECT_EQ(s.narrow.random_bits, 11);
  EXPECT_FALSE(s.divide_by_way_of_fp32 || s.quiet_nan_is_invalid || s.wide_operands_flushed);
}

// tests: N46, N48
TEST(Semantics, IpuFollowsTheBehaviour) {
  const Semantics off = Semantics::ipu();
  EXPECT_EQ(off.narrow.mode, RoundingMode::kNearestEven);
  EXPECT_EQ(off.narrow.overflow, Overflow::kSaturate);
  EXPECT_EQ(off.wide.mode, RoundingMode::kNearestEven);
  EXPECT_EQ(off.wide.overflow, Overflow::kInfinity);
  EXPECT_EQ(off.wide.subnormals, Subnormals::kFlush);
  const Semantics on = Semantics::ipu(FloatingPointBehaviour{});
  EXPECT_EQ(on.narrow.mode, RoundingMode::kStochastic);
  EXPECT_EQ(on.quarter.mode, RoundingMode::kStochastic);
  EXPECT_EQ(on.wide.mode, RoundingMode::kNearestEven);
  EXPECT_EQ(on.narrow.overflow, Overflow::kNan);
  EXPECT_TRUE(on.draws(kFp16) && on.draws(kF143) && !on.draws(kFp32));
}

TEST(Semantics, RandomBitsFollowTheEngineUnlessGiven) {
  EXPECT_EQ(Semantics::ipu({}, {}, RandomEngine::kPhilox).narrow.random_bits, 13);
  EXPECT_EQ(Semantics::ipu({}, {}, RandomEngine::kXoroshiro128aox).narrow.random_bits, 16);
  IpuSwitches w;
  w.sr_bits = 5;
  EXPECT_EQ(Semantics::ipu({}, w, RandomEngine::kXoroshiro128aox).narrow.random_bits, 5);
}

}  // namespace
}  // namespace softamp
