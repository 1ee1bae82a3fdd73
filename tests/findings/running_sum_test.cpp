// The running-sum experiment against published end values (N351: the swamping demonstration; the losses
// of one epoch) and against a loop that addresses its random bits one by one.
#include "softamp/sums/running_sum.h"

#include "softamp/numbers/number_text.h"
#include "softamp/numerics/operations.h"
#include "softamp/numerics/random.h"
#include "tests/refusal.h"

#include <gtest/gtest.h>
#include <oneapi/tbb/global_control.h>

#include <cmath>

namespace softamp {
namespace {

uint64_t code_of(const FloatFormat& format, const std::string& text) {
  return to_code(format, number_from_text(text)).code;
}

RunningSumSetup setup_of(const FloatFormat& format, const std::string& addend, uint64_t count,
                         const RoundingPolicy& policy = {}) {
  RunningSumSetup setup;
  setup.format = format;
  setup.semantics = Semantics::ieee(policy);
  setup.addend = code_of(format, addend);
  setup.count = count;
  return setup;
}

// tests: G10
TEST(RunningSum, NearestStopsAtAQuarterByAddition2181) {
  // TUTORIAL G10
  const RunningSum sum = running_sum(setup_of(kFp16, "0.0001", 10000));
  EXPECT_EQ(sum.codes, std::vector<uint64_t>{0x3400});
  EXPECT_EQ(sum.last_change, std::vector<uint64_t>{2181});
  EXPECT_EQ(sum.exact_text, "1.0001659393310546875");
  EXPECT_EQ(sum.exact, 1.0001659393310546875);
  EXPECT_EQ(sum.flags, kInexact);
}

TEST(RunningSum, NearestStopsAtAThirtySecondByAddition273InBf16) {
  const RunningSum sum = running_sum(setup_of(kBf16, "0.0001", 10000));
  EXPECT_EQ(value_of(kBf16, sum.codes[0]), 0.03125);
  EXPECT_EQ(sum.last_change[0], 273u);
}

// tests: X15
TEST(RunningSum, TheLossesOfOneEpochInFp16) {
  // TUTORIAL X15
  const struct {
    const char* loss;
    double total;
  } kCases[] = {{"2.302585", 3286}, {"1.5", 2782}, {"1.2", 1659},   {"0.75", 1391}, {"0.1", 175.375},
                {"1", 1562},        {"0.5", 781},  {"0.25", 390.5}, {"2", 3124}};
  for (const auto& c : kCases)
    EXPECT_EQ(value_of(kFp16, running_sum(setup_of(kFp16, c.loss, 1562)).codes[0]), c.total) << c.loss;
}

TEST(RunningSum, AStagnatingSumIsFinishedAtOnceHoweverManyAdditionsAreLeft) {
  const RunningSum sum = running_sum(setup_of(kFp16, "0.0001", 4294967295u));
  EXPECT_EQ(sum.codes[0], 0x3400u);
  EXPECT_EQ(sum.last_change[0], 2181u);
  EXPECT_EQ(sum.exact, 4294967295.0 * 1678 / 16777216);
}

TEST(RunningSum, FourLanesOfTileZeroEndAsTheHardwareOrderSays) {
  RunningSumSetup setup = setup_of(kFp16, "0.0001", 10000, RoundingPolicy::stochastic_carry(16));
  setup.replicas = 4;
  setup.engine = RandomEngine::kXoroshiro128aox;
  setup.seed = 42;
  EXPECT_EQ(running_sum(setup).codes, (std::vector<uint64_t>{0x3bf0, 0x3c01, 0x3c00, 0x3c12}));
  // A second group belongs to the next worker and leaves the first one's bits alone.
  setup.replicas = 7;
  const std::vector<uint64_t> seven = running_sum(setup).codes;
  EXPECT_EQ(std::vector<uint64_t>(seven.begin(), seven.begin() + 4),
            (std::vector<uint64_t>{0x3bf0, 0x3c01, 0x3c00, 0x3c12}));
}

TEST(RunningSum, PhiloxBitsAreAddressedByAdditionAndReplica) {
  for (const RandomEngine engine : {RandomEngine::kPhilox, RandomEngine::kPhilox7}) {
    for (const int r : {1, 8, 13, 16, 17, 32}) {
      RunningSumSetup setup = setup_of(kFp16, "0.01", 700, RoundingPolicy::stochastic_carry(r));
      setup.replicas = 11;  // more than one Philox block of either lane width, the last one not full
      setup.engine = engine;
      setup.seed = 0x123456789abcdef0;
      setup.operation = r % 2 != 0 ? 0 : 0xabcdef;
      const RunningSum sum = running_sum(setup);
      const RandomBits random{setup.seed, engine == RandomEngine::kPhilox7 ? 7 : 10};
      for (uint64_t replica = 0; replica < setup.replicas; ++replica) {
        uint64_t expected = 0;
        for (uint32_t n = 0; n < setup.count; ++n)
          expected =
              fp::add(kFp16, expected, setup.addend, setup.semantics, random.bits(n, setup.operation, replica, r)).code;
        ASSERT_EQ(sum.codes[replica], expected) << r << " bits, replica " << replica;
      }
    }
  }
}

TEST(RunningSum, OneReplicaIsTheSameAmongMany) {
  RunningSumSetup setup = setup_of(kBf16, "0.0001", 5000, RoundingPolicy::stochastic_carry());
  setup.replicas = 33;
  const std::vector<uint64_t> many = running_sum(setup).codes;
  setup.replicas = 5;
  const std::vector<uint64_t> few = running_sum(setup).codes;
  EXPECT_EQ(few, std::vector<uint64_t>(many.begin(), many.begin() + 5));
}

TEST(RunningSum, OverflowIsCountedOnAndItsFirstAdditionKept) {
  const RunningSum sum = running_sum(setup_of(kFp16, "30000", 100));  // 30000, 60000, then beyond 65504
  EXPECT_EQ(sum.codes[0], kFp16.infinity_code());
  EXPECT_EQ(sum.last_change[0], 3u);
  EXPECT_EQ(sum.flags, kOverflow | kInexact);
  EXPECT_EQ(sum.first_addition[2], 3u);  // overflow
  EXPECT_EQ(sum.first_addition[0], 3u);  // inexact
  EXPECT_EQ(sum.first_addition[4], 0u);  // invalid: never

  RoundingPolicy saturate;
  saturate.overflow = Overflow::kSaturate;
  EXPECT_EQ(running_sum(setup_of(kFp16, "30000", 100, saturate)).codes[0], 0x7bffu);
}

TEST(RunningSum, EveryFormatAddsExactlyWhereItCan) {
  for (const FloatFormat& format : {kFp16, kBf16, kTf32, kFp32, kE4m3, kE5m2, kF143, kF152, FloatFormat::ieee(6, 9)}) {
    // Sums below 2^p are whole numbers of the format.
    const uint64_t count = (uint64_t{1} << std::min(format.precision, 12)) - 1;
    const RunningSum sum = running_sum(setup_of(format, "1", count));
    EXPECT_EQ(value_of(format, sum.codes[0]), static_cast<double>(count));
    EXPECT_EQ(sum.last_change[0], count);
    EXPECT_EQ(sum.flags, 0);
  }
}

TEST(RunningSum, TracesAreEvenAndCompleteAndChangeNothing) {
  RunningSumSetup setup = setup_of(kFp16, "0.0001", 10000, RoundingPolicy::stochastic_carry());
  setup.replicas = 3;
  const std::vector<uint64_t> codes = running_sum(setup).codes;
  setup.trace_points = 501;
  const RunningSum sum = running_sum(setup);
  EXPECT_EQ(sum.codes, codes);
  ASSERT_EQ(sum.trace_additions.size(), 501u);
  for (size_t i = 0; i < 501; ++i) EXPECT_EQ(sum.trace_additions[i], 20 * i);
  ASSERT_EQ(sum.traces.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    ASSERT_EQ(sum.traces[i].size(), 501u);
    EXPECT_EQ(sum.traces[i].front(), 0.0);
    EXPECT_EQ(sum.traces[i].back(), value_of(kFp16, codes[i]));
  }
  setup.trace_replicas = 2;
  EXPECT_EQ(running_sum(setup).traces.size(), 2u);
  setup.count = 4000;  // an intermediate sum of the long run is the end of the short one
  EXPECT_EQ(value_of(kFp16, running_sum(setup).codes[1]), sum.traces[1][200]);
}

TEST(RunningSum, TracesOfFewAdditionsHoldEachOnce) {
  RunningSumSetup setup = setup_of(kFp16, "1", 3);
  setup.trace_points = 501;
  const RunningSum sum = running_sum(setup);
  EXPECT_EQ(sum.trace_additions, (std::vector<uint64_t>{0, 1, 2, 3}));
  EXPECT_EQ(sum.traces[0], (std::vector<double>{0, 1, 2, 3}));
}

TEST(RunningSum, AStagnatingTraceGoesOnToTheEnd) {
  RunningSumSetup setup = setup_of(kFp16, "0.0001", 1000000);
  setup.trace_points = 5;
  const RunningSum sum = running_sum(setup);
  EXPECT_EQ(sum.trace_additions, (std::vector<uint64_t>{0, 250000, 500000, 750000, 1000000}));
  EXPECT_EQ(sum.traces[0], (std::vector<double>{0, 0.25, 0.25, 0.25, 0.25}));
}

TEST(RunningSum, ProgressHearsOfAdditionsDone) {
  std::vector<uint64_t> heard;
  running_sum(setup_of(kFp32, "1", 200000), [&](uint64_t done) { heard.push_back(done); });
  EXPECT_EQ(heard, (std::vector<uint64_t>{65536, 131072, 196608}));
}

/// The sums, their last changes and first flags, addition by addition and replica by replica.
void expect_like_scalars(const RunningSumSetup& setup, const std::string& what) {
  const RunningSum sum = running_sum(setup);
  const RandomBits random{setup.seed};
  const int r = setup.semantics.rounding(setup.format).random_bits;
  uint64_t first[kFlagCount] = {};
  uint8_t flags = 0;
  for (uint64_t replica = 0; replica < setup.replicas; ++replica) {
    uint64_t code = setup.start, last = 0;
    for (uint32_t n = 0; n < setup.count; ++n) {
      const Rounded x =
          fp::add(setup.format, code, setup.addend, setup.semantics, random.bits(n, setup.operation, replica, r));
      if (x.code != code) last = n + 1;
      code = x.code;
      flags |= x.flags;
      for (int b = 0; b < kFlagCount; ++b)
        if ((x.flags >> b & 1) && (first[b] == 0 || n + 1 < first[b])) first[b] = n + 1;
    }
    ASSERT_EQ(sum.codes[replica], code) << what << ", replica " << replica;
    ASSERT_EQ(sum.last_change[replica], last) << what << ", replica " << replica;
  }
  EXPECT_EQ(sum.flags, flags) << what;
  for (int b = 0; b < kFlagCount; ++b) EXPECT_EQ(sum.first_addition[b], first[b]) << what << ", flag " << b;
}

TEST(RunningSum, ManyReplicasInChunksAreTheScalarSums) {
  // Several chunks, the last one not full; from sums that never overflow to ones that do at once, of either sign.
  const struct {
    FloatFormat format;
    const char *start, *addend;
  } kCases[] = {{kFp16, "0", "0.0001"}, {kFp16, "65000", "3.3"}, {kFp16, "-65000", "-13"},
                {kFp16, "5", "-0.1"},   {kBf16, "0", "0.01"},    {kBf16, "3.38e38", "1e34"},
                {kF143, "200", "0.75"}, {kE5m2, "1", "-0.06"},   {kFp32, "0", "0.0001"}};
  for (const auto& c : kCases)
    for (const int r : {5, 13, 20}) {
      RunningSumSetup setup = setup_of(c.format, c.addend, 90, RoundingPolicy::stochastic_carry(r));
      setup.start = code_of(c.format, c.start);
      setup.replicas = 700;
      setup.seed = 99;
      setup.operation = 12345;
      expect_like_scalars(setup, std::string(c.start) + " + " + c.addend + ", " + std::to_string(r) + " bits");
    }
}

// A few sums are binary64 numbers where the policy allows, and leave that for the definition where a result is rare.
TEST(RunningSum, FewReplicasAreTheScalarSumsUnderEveryPolicy) {
  const auto carry = RoundingPolicy::stochastic_carry;
  std::vector<std::pair<std::string, Semantics>> all;
  const auto add = [&](const std::string& name, RoundingPolicy policy, const auto& change) {
    change(policy);
    all.emplace_back(name, Semantics::ieee(policy));
  };
  for (const int r : {1, 13, 16, 28, 29, 30, 32}) add(std::to_string(r) + " bits", carry(r), [](RoundingPolicy&) {});
  for (const StochasticVariant v :
       {StochasticVariant::kHalf, StochasticVariant::kRne, StochasticVariant::kOdd, StochasticVariant::kAtLeast})
    add("variant " + std::to_string(static_cast<int>(v)), carry(7), [&](RoundingPolicy& p) { p.variant = v; });
  for (const OverflowRule rule : {OverflowRule::kExact, OverflowRule::kHalfway, OverflowRule::kPower})
    for (const Overflow o : {Overflow::kInfinity, Overflow::kSaturate, Overflow::kNan})
      add("overflow " + std::to_string(static_cast<int>(rule)) + std::to_string(static_cast<int>(o)), carry(9),
          [&](RoundingPolicy& p) { p.overflow_rule = rule, p.overflow = o; });
  add("as if normal", carry(9), [](RoundingPolicy& p) { p.alignment = RandomAlignment::kAsIfNormal; });
  add("flushed", carry(9), [](RoundingPolicy& p) { p.subnormals = Subnormals::kFlush; });
  add("no inexact", carry(9), [](RoundingPolicy& p) { p.flags = kInvalid | kOverflow; });
  all.emplace_back("flushed operands", Semantics::ieee(carry(9)));
  all.back().second.wide_operands_flushed = true;
  for (const FloatFormat& format : {kFp16, kBf16, kFp32, kTf32, kE4m3, kF143, FloatFormat::ieee(4, 9)}) {
    const uint64_t sign = format.sign_mask(), normal = format.min_normal_code(), most = format.max_finite_code();
    const uint64_t one = code_of(format, "1");
    const std::pair<uint64_t, uint64_t> kOperands[] = {
        {0, one + 1},             // from zero
        {one, (one - 2) | sign},  // through zero, and on
        {most - 40, one + 3},     // to the largest number, or not at all
        {(most - 3) | sign, (most - (7 << format.mantissa_bits()) / 2) | sign},
        {normal + 5, (normal + 1) | sign},  // into the subnormal numbers
        {3, normal + 1},                    // from there
        {normal, 3},                        // a subnormal addend
        {one, normal + 1},                  // far below: in wide formats beyond binary64, too
    };
    for (const auto& [name, semantics] : all)
      for (const auto& [start, addend] : kOperands)
        for (const uint64_t replicas : {1, 9}) {
          RunningSumSetup setup;
          setup.format = format;
          setup.semantics = semantics;
          setup.start = start;
          setup.addend = addend;
          setup.count = replicas == 1 ? 150 : 40;
          setup.replicas = replicas;
          setup.seed = 0x123456789;
          expect_like_scalars(setup, name + ", " + code_text(format, start) + " + " + code_text(format, addend));
        }
  }
}

TEST(RunningSum, TheIpusNansAndSaturationsInChunks) {
  for (const bool nanoo : {false, true})
    for (const FloatFormat& format : {kFp16, kF143}) {
      FloatingPointBehaviour behaviour = FloatingPointBehaviour::all_off();
      behaviour.esr = true;
      behaviour.nanoo = nanoo;
      RunningSumSetup setup = setup_of(format, format == kFp16 ? "17.3" : "1.5", 120);
      setup.semantics = Semantics::ipu(behaviour);
      setup.start = code_of(format, format == kFp16 ? "64800" : "160");
      setup.replicas = 300;
      expect_like_scalars(setup, nanoo ? "nanoo" : "saturating");
    }
}

TEST(RunningSum, ManyAdditionsKeepTheirLastChange) {
  // Beyond the 16384 additions whose numbers a lane holds.
  RunningSumSetup setup = setup_of(kFp16, "1", 40000, RoundingPolicy::stochastic_carry(3));
  setup.replicas = 20;
  expect_like_scalars(setup, "ones");
}

TEST(RunningSum, LanesNoteTheLastOfTwoAdditionsThatChangedASum) {
  // Sums of ones grow slowly from 2048 on; counts odd and even, around the 16384 additions whose numbers a lane holds.
  for (const uint64_t count : {1, 2, 3, 4095, 16383, 16384, 16385, 32769}) {
    RunningSumSetup setup = setup_of(kFp16, "1", count, RoundingPolicy::stochastic_carry(11));
    setup.start = code_of(kFp16, "2000");
    setup.replicas = 70;
    setup.seed = count;
    expect_like_scalars(setup, std::to_string(count) + " ones");
  }
}

TEST(RunningSum, ThreadsChangeNothing) {
  RunningSumSetup setup = setup_of(kFp16, "0.0001", 300, RoundingPolicy::stochastic_carry());
  setup.replicas = 9000;
  setup.trace_points = 11;
  setup.trace_replicas = 700;
  const RunningSum all = running_sum(setup);
  const tbb::global_control one(tbb::global_control::max_allowed_parallelism, 1);
  const RunningSum alone = running_sum(setup);
  EXPECT_EQ(alone.codes, all.codes);
  EXPECT_EQ(alone.last_change, all.last_change);
  EXPECT_EQ(alone.traces, all.traces);
}

TEST(RunningSum, ProgressMayStopManyChunks) {
  RunningSumSetup setup = setup_of(kFp16, "0.0001", 100, RoundingPolicy::stochastic_carry());
  setup.replicas = 20000;
  struct Enough {};
  uint64_t last = 0;
  EXPECT_THROW(running_sum(setup,
                           [&](uint64_t done) {
                             EXPECT_GT(done, last);
                             last = done;
                             if (done > 10) throw Enough{};
                           }),
               Enough);
}

TEST(RunningSum, RefusesWhatItCannotDo) {
  const auto message_of = [](const RunningSumSetup& setup) {
    return test::refusal<std::invalid_argument>([&] { running_sum(setup); });
  };
  RunningSumSetup setup = setup_of(kFp16, "1", 0);
  EXPECT_EQ(message_of(setup), "running sum: count 0: expected 1..4294967295");
  setup.count = uint64_t{1} << 32;
  EXPECT_EQ(message_of(setup), "running sum: count 4294967296: expected 1..4294967295");
  setup.count = 1;
  setup.replicas = 0;
  EXPECT_EQ(message_of(setup), "running sum: replicas 0: expected 1..1048576");
  setup.replicas = 1;
  setup.addend = 0x7c00;
  EXPECT_EQ(message_of(setup), "running sum: operand 0x7c00: expected the code of a finite number");
  setup.addend = 0x13c00;
  EXPECT_EQ(message_of(setup), "running sum: operand 0x13c00: expected the code of a finite number");
  setup.format = kBinary64;
  EXPECT_EQ(message_of(setup),
            "running sum: format 64 bits wide: expected 2..8 exponent bits and a precision of 2..24");
}

TEST(MeanAndDeviation, OfKnownValues) {
  const double values[] = {2, 4, 4, 4, 5, 5, 7, 9};
  EXPECT_EQ(mean_and_deviation(values).mean, 5.0);
  EXPECT_EQ(mean_and_deviation(values).sd, std::sqrt(32.0 / 7));
  EXPECT_EQ(mean_and_deviation(std::span(values, 1)).mean, 2.0);
  EXPECT_TRUE(std::isnan(mean_and_deviation(std::span(values, 1)).sd));
}

}  // namespace
}  // namespace softamp
