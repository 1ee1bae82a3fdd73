// `matvec-error`: its checks agree, one product is that of a slow loop of its own, and bad requests say what is wrong.
#include "src/reproduce/shelf.h"

#include "softamp/numerics/operations.h"
#include "softamp/numerics/random.h"
#include "src/reproduce/steps/paths.h"
#include "src/reproduce/survey.h"
#include "tests/reproduce/brief.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace softamp;
using namespace softamp::reproduce;

namespace {

Outcome run_matvec(const Request& request) { return outcome_of(matvec_error::experiment(), request); }

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

}  // namespace
