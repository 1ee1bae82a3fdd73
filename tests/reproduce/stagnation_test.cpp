// Where sums stop: theory against additions one by one, over formats, modes and addends, and what the experiment
// promises.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "softamp/numerics/operations.h"
#include "softamp/report/names.h"
#include "softamp/report/number_text.h"
#include "src/reproduce/sums/stagnation_theory.h"
#include "tests/reproduce/outcome_check.h"

namespace softamp::reproduce {
namespace {

TEST(Stagnation, TheBriefRunAgreesAndIsRepeatable) {
  expect_sound("stagnation");
  expect_repeatable("stagnation");
}

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
}

TEST(Stagnation, RunsTheRoundingsThatItIsAsked) {
  Request r;
  r.brief = true;
  r.roundings = {RoundingMode::kNearestEven};
  Outcome o = run_experiment("stagnation", r);
  ASSERT_EQ(o.tables.size(), 1u);
  EXPECT_EQ(o.tables[0].name, "stops");
  EXPECT_EQ(o.settings["roundings"], Json({"nearest"}));
  EXPECT_FALSE(o.settings.contains("random_bits"));
  EXPECT_EQ(o.seen.find("2048"), std::string::npos);
  r.roundings = {RoundingMode::kStochastic};
  o = run_experiment("stagnation", r);
  ASSERT_EQ(o.tables.size(), 2u);
  EXPECT_EQ(o.tables[0].name, "goes-on");
  for (const Check& c : o.checks) EXPECT_TRUE(c.agrees) << c.what;
}

TEST(Stagnation, CanBeInterruptedWithinAFormat) {
  Request r;
  r.brief = true;
  r.formats = {kFp16};
  int asked = 0;
  Watch watch({}, [&] { return ++asked > 3; });
  EXPECT_THROW(experiment_called("stagnation").run(r, watch), Interrupted);
}

TEST(Stagnation, SaysWhatItDoesNotTake) {
  Request r;
  r.roundings = {RoundingMode::kUp};
  expect_refused("stagnation", r, "rounding up in stagnation: expected nearest, nearest-away, zero, down or odd");
  r = {};
  r.formats = {kBinary64};
  expect_refused("stagnation", r, "format fp64 in stagnation: expected one of 2..8 exponent bits");
  r = {};
  r.formats = {kFp32};
  r.roundings = {RoundingMode::kStochastic};
  expect_refused("stagnation", r, "rounding stochastic of fp32 in stagnation: expected a format of at most 16 bits");
  r.formats = {kFp16};
  r.roundings = {RoundingMode::kNearestEven};
  r.bits = 3;
  expect_refused("stagnation", r, "--bits in stagnation: expected a stochastic rounding beside it");
  r = {};
  r.formats = {FloatFormat::ieee(2, 7)};
  r.roundings = {RoundingMode::kStochastic};
  expect_refused("stagnation", r, "format e2p7 in stagnation: expected one in which a stochastic sum of ones stays");
}

}  // namespace
}  // namespace softamp::reproduce
