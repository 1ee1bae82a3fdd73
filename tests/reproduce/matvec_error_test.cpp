// `matvec-error`: its checks agree, one product is that of a slow loop of its own, and bad requests say what is wrong.
#include "src/reproduce/shelf.h"

#include "softamp/numerics/operations.h"
#include "softamp/numerics/random.h"
#include "src/reproduce/steps/paths.h"
#include "src/reproduce/survey.h"
#include "tests/reproduce/brief.h"
#include "tests/reproduce/survey_check.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace softamp;
using namespace softamp::reproduce;

namespace {

Outcome run_matvec(const Request& request) { return outcome_of(matvec_error::experiment(), request); }

TEST(MatvecError, AgreesWithThePublication) {
  const Outcome o = run_matvec(brief_request());
  reproduce::test::expect_sound(o);
  EXPECT_EQ(o.checks.size(), 14u);
  for (const char* said : {"ends at 6000", "one A serve", "rounded to the format first"})
    EXPECT_NE(o.deviations.find(said), std::string::npos) << said;
}

// Nearest's bound is judged where it is below 1, and its stop only where the exact sums have passed it.
TEST(MatvecError, JudgesNothingThatCannotFail) {
  Request request = brief_request();
  request.samples = 100;
  int recorded = 0, bounds = 0;
  for (const Check& c : run_matvec(request).checks) {
    recorded += c.against == Against::kRecorded;
    if (c.what.find("nearest: backward error over n u/(1 - n u)") == std::string::npos) continue;
    EXPECT_EQ(c.against, Against::kBound);
    EXPECT_TRUE(c.agrees);
    EXPECT_NE(c.what.find("up to n = "), std::string::npos);
    ++bounds;
  }
  EXPECT_EQ(bounds, 2);
  EXPECT_EQ(recorded, 4);  // two figures of nearest in each format
}

/// Backward error of nearest (run 0) or of stochastic repeat `run`, by the scalar unit.
double backward_error(const FloatFormat& f, uint64_t run, uint64_t n, uint64_t seed) {
  const RandomBits random{seed};
  const auto uniform = [&](uint32_t kind, uint64_t index) {
    return (random.bits(0, survey::operation_of(f, kind), index, 32) + 0.5) / 4294967296.0;
  };
  const Semantics s = run == 0 ? Semantics::ieee() : experiment_semantics(RoundingMode::kStochastic, 24);
  double worst = 0;
  for (uint64_t i = 0; i < 100; ++i) {
    uint64_t y = 0;
    long double exact = 0;
    for (uint64_t j = 0; j < n; ++j) {
      const uint64_t a = fp::from_double(f, 1e-3 * uniform(3, 128 * j + i)), x = fp::from_double(f, uniform(4, j));
      const uint32_t step = static_cast<uint32_t>(j);
      const uint64_t path = run * 128 + i;
      const uint64_t product = fp::mul(f, a, x, s, random.bits(step, survey::operation_of(f, 1), path, 24)).code;
      y = fp::add(f, y, product, s, random.bits(step, survey::operation_of(f, 2), path, 24)).code;
      exact += static_cast<long double>(fp::to_double(f, a)) * fp::to_double(f, x);
    }
    worst = std::max(worst, static_cast<double>(std::abs(fp::to_double(f, y) / exact - 1)));
  }
  return worst;
}

TEST(MatvecError, IsTheUnitsStepByStep) {
  Request request = brief_request(11);
  request.samples = 100;
  const Outcome o = run_matvec(request);
  const auto& rows = o.tables[0].rows;
  int seen = 0;
  for (const auto& row : rows) {
    if (row[1] != 62) continue;
    const FloatFormat f = row[0] == "fp16" ? kFp16 : kBf16;
    EXPECT_NEAR(row[2].get<double>(), backward_error(f, 0, 62, 11), 1e-12) << row[0];
    double total = 0, worst = 0;
    for (uint64_t repeat = 1; repeat <= 10; ++repeat) {
      const double error = backward_error(f, repeat, 62, 11);
      total += error;
      worst = std::max(worst, error);
    }
    EXPECT_NEAR(row[3].get<double>(), total / 10, 1e-12) << row[0];
    EXPECT_NEAR(row[4].get<double>(), worst, 1e-12) << row[0];
    ++seen;
  }
  EXPECT_EQ(seen, 2);
}

// u is 2^-p in tables, checks and words; what a stochastic rounding may err by is 2 u, and is called so.
TEST(MatvecError, OneNameHasOneRoundoff) {
  Request request = brief_request();
  request.samples = 200;
  const Outcome o = run_matvec(request);
  const Table& table = o.tables[0];
  ASSERT_EQ(table.columns.back(), "min(1, 2 sqrt(n) u)");
  ASSERT_EQ(table.columns[table.columns.size() - 2], "min(1, sqrt(n) u)");
  for (const auto& row : table.rows) {
    const double n = row[1].get<double>(), u = row[0] == "fp16" ? 0x1p-11 : 0x1p-8;
    EXPECT_EQ(row[7].get<double>(), std::sqrt(n) * u) << row[0] << n;
    EXPECT_EQ(row[8].get<double>(), 2 * std::sqrt(n) * u) << row[0] << n;
  }
  int named = 0;
  for (const Check& c : o.checks) {
    if (c.what.find("sqrt(n) u") == std::string::npos) continue;
    EXPECT_NE(c.what.find(" 2 sqrt(n) u"), std::string::npos) << c.what;
    ++named;
  }
  EXPECT_EQ(named, 4);
}

// With one random bit nothing comes back of what is lost: the words say so, and give the figure.
TEST(MatvecError, ItsWordsAreTrueOfFewBits) {
  Request request = brief_request();
  const Outcome many = run_matvec(request);
  const auto& last = many.tables[0].rows.back();  // bf16's: mean of the repeats over sqrt(n) u
  const std::string share = survey::six_digits(last[3].get<double>() / last[7].get<double>()) + " in bf16. u is 2^-p";
  EXPECT_NE(many.seen.find(share), std::string::npos) << many.seen << share;
  request.bits = 1;
  const Outcome o = run_matvec(request);
  EXPECT_GT(o.tables[0].rows.back()[3].get<double>(), 0.5) << "bf16's mean backward error";
  EXPECT_EQ(o.seen.find("no faster"), std::string::npos);
  EXPECT_EQ(o.seen.find("over sqrt(n) u"), std::string::npos);
  EXPECT_EQ(o.seen.find("comes back"), std::string::npos);
  const size_t at = o.seen.find("with 1 random bit, every addition loses what is below 2^-1 of");
  ASSERT_NE(at, std::string::npos) << o.seen;
  EXPECT_NE(o.seen.find("the mean error of all rows is -0.", at), std::string::npos) << o.seen;
}

// The publication's n: round(logspace(1, 6, 20)).
TEST(MatvecError, LooksAtThePublishedLengths) {
  const Outcome o = run_matvec(brief_request());
  EXPECT_EQ(o.settings["n"].dump(), "[10,18,34,62,113,207,379,695,1274,2336,4281,6000]");
}

TEST(MatvecError, IsTheSameForAnyNumberOfThreads) {
  reproduce::test::expect_seed_decides([](uint64_t seed) { return run_matvec(brief_request(seed, 1000)); });
}

TEST(MatvecError, SaysWhatItCannotTake) {
  Request request = brief_request();
  request.formats = {kTf32};
  reproduce::test::expect_refused([&] { run_matvec(request); },
                                  "matvec-error: format tf32: expected one of at most 16 bits");
  request.formats = {kE4m3};
  reproduce::test::expect_refused(
      [&] { run_matvec(request); },
      "matvec-error: format e4m3: expected one whose numbers reach 2^10, which the sums need");
  request.formats = {FloatFormat{5, 3, 12, Specials::kIeee}};
  EXPECT_THROW(run_matvec(request), std::invalid_argument);
  request.formats.clear();
  request.samples = 10;
  reproduce::test::expect_refused([&] { run_matvec(request); },
                                  "matvec-error: 10 columns (--samples): expected 100..1000000");
  request.samples = 200;
  request.bits = 0;
  reproduce::test::expect_refused([&] { run_matvec(request); }, "matvec-error: 0 random bits: expected 1..32");
}

TEST(MatvecError, TakesOtherFormatsAndFewBits) {
  Request request = brief_request();
  request.formats = {kE5m2};
  request.bits = 2;
  request.samples = 500;
  const Outcome o = run_matvec(request);
  for (const auto& row : o.tables[0].rows) EXPECT_EQ(row[0], "e5m2");
  for (const Check& c : o.checks)
    if (c.what.find("stochastic") != std::string::npos) {
      EXPECT_EQ(c.against, Against::kRecorded) << c.what;
    }
}

}  // namespace
