// The experiment `decay` in its short form, against a transcription of its own: doubles, rounded by std::nearbyint.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "softamp/names/names.h"
#include "softamp/numerics/operations.h"
#include "softamp/numerics/random.h"
#include "src/reproduce/shelf.h"
#include "src/reproduce/steps/decay_runs.h"
#include "tests/reproduce/stepping_check.h"

namespace softamp::reproduce {
namespace {

Outcome brief_decay(const Request& request = {}) { return brief_of(decay::experiment(), request); }

/// Nearest, slowly: the order of the set-up, on doubles, whose 53 bits make the second of the roundings harmless.
double slow_decay(int which, int precision, int quantum, int n) {
  const auto fl = [&](double x) { return rounded(x, precision, quantum); };
  double y = which == 0 ? 1.0 / 64 : 1;
  const double h = fl((which == 0 ? 1 : 1.0 / 64) / n);
  for (int k = 0; k < n; ++k) {
    const double g = which == 0 ? y : fl(y / 20);
    y = fl(y + fl(h * -g));
  }
  return y;
}

TEST(Decay, NearestIsASlowTranscriptions) {
  int compared = 0;
  for (const Json& row : rows(brief_decay())) {
    if (row[2] != "nearest") continue;
    const int which = row[0] == "unit-rate" ? 0 : 1;
    const int precision = row[1] == "bf16" ? 8 : row[1] == "fp16" ? 11 : 24;
    const int quantum = row[1] == "bf16" ? -133 : row[1] == "fp16" ? -24 : -149;
    EXPECT_EQ(row[5].get<double>(), slow_decay(which, precision, quantum, row[3].get<int>()))
        << row[0] << row[1] << row[3];
    ++compared;
  }
  EXPECT_EQ(compared, 2 * 3 * 9);
}

/// Stochastic paths, with the scalar operations and every random word at its address.
TEST(Decay, StochasticPathsReadTheirRandomWords) {
  for (const FloatFormat& f : {kBf16, kFp16, kFp32}) {
    const stepping::DecayRun run{1, f, RoundingMode::kStochastic, 22, 1, 3};
    stepping::JobProgress progress;
    const stepping::DecayEnd end = stepping::run_decay(run, 32, 9, progress);
    const Semantics s = experiment_semantics(RoundingMode::kStochastic, 32);
    const RandomBits random{9};
    const auto word = [&](uint32_t step, uint32_t kind, uint64_t path) {
      return random.bits(step, stepping::site_of(f, 33, kind), path, 32);  // problem 1, place 1 of 32
    };
    for (uint64_t path = 0; path < 3; ++path) {
      const uint64_t h = fp::convert(kBinary64, f, std::bit_cast<uint64_t>(1.0 / (64 * 22)), s, word(0, 0, path)).code;
      EXPECT_EQ(end.h[path], fp::to_double(f, h));
      uint64_t y = fp::from_double(f, 1);
      for (uint32_t k = 1; k <= 22; ++k) {
        const uint64_t g = fp::div(f, y, fp::from_double(f, 20), s, word(k, 1, path)).code;
        const uint64_t p = fp::mul(f, h, g ^ f.sign_mask(), s, word(k, 2, path)).code;
        y = fp::add(f, y, p, s, word(k, 3, path)).code;
      }
      EXPECT_EQ(end.y[path], fp::to_double(f, y));
    }
  }
}

TEST(Decay, StopsWhereTheHalfUlpRuleSays) {
  // Without the roundings of h and of the product it would be 2^(p + 1) and 2^(p + 1) / 1280.
  const uint64_t expected[2][3] = {{511, 4063, 33554431}, {1, 4, 26215}};
  const FloatFormat formats[] = {kBf16, kFp16, kFp32};
  for (size_t which = 0; which < 2; ++which)
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(stepping::found_stagnation(stepping::kDecayCases[which], formats[i]), expected[which][i]);
      EXPECT_EQ(stepping::predicted_stagnation(stepping::kDecayCases[which], formats[i]), expected[which][i]);
    }
  EXPECT_EQ(slow_decay(0, 8, -133, 511), 1.0 / 64);
  EXPECT_LT(slow_decay(0, 8, -133, 510), 1.0 / 64);
  EXPECT_EQ(slow_decay(0, 11, -24, 4063), 1.0 / 64);
  EXPECT_LT(slow_decay(0, 11, -24, 4062), 1.0 / 64);
  EXPECT_EQ(slow_decay(1, 24, -149, 26215), 1);
  EXPECT_LT(slow_decay(1, 24, -149, 26214), 1);
}

TEST(Decay, TheRuleAndTheUnitAgreeInEveryFormat) {
  for (int exponent_bits = 4; exponent_bits <= 8; ++exponent_bits)
    for (int precision = 3; precision <= 24; ++precision)
      for (const stepping::DecayCase& c : stepping::kDecayCases) {
        const FloatFormat f = FloatFormat::ieee(exponent_bits, precision);
        if (exponent_bits == 4 && precision < 8) continue;  // 1/20 or 20 is not there
        EXPECT_EQ(stepping::found_stagnation(c, f), stepping::predicted_stagnation(c, f))
            << format_name(f) << ": " << c.text;
      }
}

TEST(Decay, AFormatsResultDoesNotDependOnTheOthers) {
  Request request;
  request.formats = {kFp16};
  Json alone = Json::array(), among = Json::array();
  for (const Json& row : rows(brief_decay(request))) alone.push_back(row);
  for (const Json& row : rows(brief_decay()))
    if (row[1] == "fp16") among.push_back(row);
  EXPECT_EQ(alone, among);
}

}  // namespace
}  // namespace softamp::reproduce
