// Where sums stop: theory against additions one by one, over formats, modes and addends, and what the experiment
// promises.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "softamp/names/names.h"
#include "softamp/numbers/number_text.h"
#include "softamp/numerics/operations.h"
#include "src/reproduce/shelf.h"
#include "src/reproduce/sums/stagnation_theory.h"
#include "tests/reproduce/brief.h"

namespace softamp::reproduce {
namespace {

TEST(Stagnation, TheoryIsWhatAdditionsDo) {
  std::mt19937_64 generator(1);
  for (const FloatFormat& f : {kE4m3, kE5m2, kF143, kF152, FloatFormat::ieee(3, 5), FloatFormat::ieee(2, 7),
                               FloatFormat::ieee(8, 2), FloatFormat::ieee(6, 9), kBf16})
    for (const RoundingMode mode : {RoundingMode::kNearestEven, RoundingMode::kNearestAway, RoundingMode::kTowardZero,
                                    RoundingMode::kDown, RoundingMode::kOdd})
      for (int i = 0; i < 40; ++i) {
        const uint64_t addend = generator() % (f.max_finite_code() + 1);
        const Semantics s = Semantics::ieee(RoundingPolicy::ieee(mode));
        uint64_t sum = 0, additions = 0;
        for (;;) {
          const uint64_t next = fp::add(f, sum, addend, s).code;
          // Toward zero an overflow ends at the largest number.
          if (next == sum || !f.is_finite(next)) {
            additions += next != sum;
            sum = next;
            break;
          }
          sum = next;
          ++additions;
        }
        const Stop stop = predicted_stop(f, mode, addend);
        const std::string what = format_name(f) + ' ' + name_of(mode) + ' ' + code_text(f, addend);
        if (stop.overflows) {
          EXPECT_TRUE(!f.is_finite(sum) || sum == f.max_finite_code()) << what;
          continue;
        }
        ASSERT_EQ(stop.sum, value_of(f, sum)) << what;
        ASSERT_EQ(stop.additions, additions) << what;
        if (mode == RoundingMode::kNearestEven) {
          EXPECT_EQ(stop_formula(f, addend), stop.sum) << what;
        }
      }
}

TEST(Stagnation, KnownStops) {
  EXPECT_EQ(predicted_stop(kFp16, RoundingMode::kNearestEven, 0x068e).sum, .25);
  EXPECT_EQ(predicted_stop(kFp16, RoundingMode::kNearestEven, 0x068e).additions, 2181u);
  EXPECT_EQ(predicted_stop(kBf16, RoundingMode::kNearestEven, 0x38d2).additions, 273u);
  EXPECT_EQ(predicted_stop(kFp32, RoundingMode::kNearestEven, 0x3f800000).sum, 16777216);
  EXPECT_EQ(predicted_stop(kFp32, RoundingMode::kNearestEven, 0x3f800000).additions, 16777216u);
  // A tie moves an odd sum, not an even one; away from zero it moves both, up to the next binade.
  EXPECT_EQ(predicted_stop(kE4m3, RoundingMode::kNearestEven, 0x38).sum, 16);
  EXPECT_EQ(predicted_stop(kE4m3, RoundingMode::kNearestAway, 0x38).sum, 32);
  // e3p5, 1 again and again: 15 + 1 and 15.5 + 1 are beyond 15.5, the largest number.
  const FloatFormat e3p5 = FloatFormat::ieee(3, 5);
  for (const RoundingMode mode : {RoundingMode::kTowardZero, RoundingMode::kDown, RoundingMode::kOdd}) {
    EXPECT_EQ(predicted_stop(e3p5, mode, 0x30).sum, 15.5);
    EXPECT_EQ(predicted_stop(e3p5, mode, 0x30).additions, 16u);
    EXPECT_FALSE(predicted_stop(e3p5, mode, 0x30).overflows);
  }
  EXPECT_EQ(stochastic_stop_formula(kFp16, 0x3c00, 4), 32768);
  // Nothing added leaves the sum where it starts.
  EXPECT_EQ(predicted_stop(kFp16, RoundingMode::kNearestEven, 0, 0x3c00).sum, 1);
  EXPECT_EQ(predicted_stop(kFp16, RoundingMode::kNearestEven, 0, 0x3c00).additions, 0u);
}

TEST(Stagnation, CanBeInterruptedWithinAFormat) {
  Request r;
  r.brief = true;
  r.formats = {kFp16};
  int asked = 0;
  Watch watch({}, [&] { return ++asked > 3; });
  EXPECT_THROW(experiment_called("stagnation").run(r, watch), Interrupted);
}

}  // namespace
}  // namespace softamp::reproduce
