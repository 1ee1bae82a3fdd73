// A test author's view: set a floating-point behaviour, then assert what a device would do (TUTORIAL G32).
//
// These are ordinary GoogleTest tests; only the printing of times is turned off so that the output is always the same.
// tests: G32
#include "softamp/findings/exception.h"
#include "softamp/findings/gtest.h"
#include "softamp/numerics/unit.h"

#include <gtest/gtest.h>

using namespace softamp;
using namespace softamp::literals;

namespace {

/// A unit under one behaviour, and the worker's launch that a device does before each program.
class Device : public ::testing::Test {
 protected:
  void set(FloatingPointBehaviour behaviour) { ASSERT_TRUE(unit.launch(ControlRegister::encode(behaviour))); }
  bool raised(uint32_t flag) const { return (unit.get(Csr::kFpSts) & flag) != 0; }

  FpUnit unit;
};

TEST_F(Device, SaturatesByDefault) {
  EXPECT_EQ(unit.mul(60000.0_h, 60000.0_h), 65504.0_h);
  EXPECT_EQ(unit.mul(10000.0_h, -10000.0_h), -65504.0_h);
  EXPECT_TRUE(raised(StatusRegister::kOflo));
  EXPECT_NO_THROW(throw_if_excepted(unit)) << "recorded, but nobody asked to stop";
}

TEST_F(Device, MakesOverflowNanUnderNanoo) {
  FloatingPointBehaviour nanoo = FloatingPointBehaviour::all_off();
  nanoo.nanoo = true;
  set(nanoo);
  EXPECT_EQ(unit.mul(60000.0_h, 60000.0_h).bits(), 0x7e00);
  EXPECT_TRUE(raised(StatusRegister::kInv));
}

TEST_F(Device, StopsOnOverflow) {
  FloatingPointBehaviour oflo = FloatingPointBehaviour::all_off();
  oflo.oflo = true;
  set(oflo);
  unit.mul(60000.0_h, 60000.0_h);
  try {
    throw_if_excepted(unit);
    FAIL() << "expected an exception";
  } catch (const FloatingPointError& e) {
    EXPECT_EQ(e.kinds(), kOverflow);
    EXPECT_EQ(e.operands(), (std::vector<uint64_t>{0x7b53, 0x7b53}));
  }
}

TEST_F(Device, StopsOnEverythingUnderThePoplarDefault) {
  set(FloatingPointBehaviour{});  // all five flags on
  unit.mul(1e30F, 1e30F);
  EXPECT_FP_EXCEPTION(throw_if_excepted(unit), kOverflow);
  set(FloatingPointBehaviour{});
  unit.equal(Half::from_bits(0x7e00), 1.0_h);
  EXPECT_FP_EXCEPTION(throw_if_excepted(unit), kInvalid) << "comparing with a NaN is invalid";
}

TEST_F(Device, TurnsADivisionByZeroIntoNan) {
  EXPECT_EQ(unit.div(10000.0_h, 0.0_h).bits(), 0x7e00);
  EXPECT_TRUE(raised(StatusRegister::kDiv0));
  EXPECT_FALSE(raised(StatusRegister::kInv));
}

TEST_F(Device, RoundsStochasticallyUnderEsr) {
  FloatingPointBehaviour esr = FloatingPointBehaviour::all_off();
  esr.esr = true;
  set(esr);
  unit.put(Csr::kPrngSeed, 1);
  int above = 0;
  for (int i = 0; i < 1024; ++i) {
    const Half one[4] = {1.0_h, 1.0_h, 1.0_h, 1.0_h}, small[4] = {1e-3_h, 1e-3_h, 1e-3_h, 1e-3_h};
    Half sum[4];
    unit.execute(UnitOp::kAdd, 4, sum, one, small);
    for (const Half x : sum) above += x == 1.001953125_h;
  }
  // 1 + half(1e-3) lies 25/1024 of the way to the upper neighbour: 100 of 4096 on average, 111 with this seed.
  EXPECT_EQ(above, 111);
  set(FloatingPointBehaviour::all_off());
  EXPECT_EQ(unit.add(1.0_h, 1e-3_h), 1.0009765625_h);
}

}  // namespace

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  GTEST_FLAG_SET(print_time, false);
  return RUN_ALL_TESTS();
}
