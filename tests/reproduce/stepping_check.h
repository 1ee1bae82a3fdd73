// What the tests of the experiments that step in time share: a short run, a slow rounding to judge it by, and what
// these experiments answer alike: directed modes, options without effect, an interrupt.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "src/reproduce/experiment.h"

#include "tests/refusal.h"
#include "tests/reproduce/brief.h"

namespace softamp::reproduce {

inline Json rows(const Outcome& outcome) { return outcome.tables.at(0).rows; }

/// So many checks at the least, and all agree; two figures; the text says this of the set-up.
inline void expect_agrees(const Outcome& outcome, size_t checks, const std::string& said) {
  EXPECT_GE(outcome.checks.size(), checks);
  for (const Check& check : outcome.checks)
    EXPECT_TRUE(check.agrees) << check.what << ": " << check.ours << ", expected " << check.theirs;
  EXPECT_EQ(outcome.figures.size(), 2u);
  EXPECT_NE(outcome.deviations.find(said), std::string::npos);
}

/// x to `precision` bits, to nearest even; a multiple of 2^quantum at the least.
inline double rounded(double x, int precision, int quantum) {
  if (x == 0) return 0;
  const int exponent = std::max(std::ilogb(x) - precision + 1, quantum);
  return std::ldexp(std::nearbyint(std::ldexp(x, -exponent)), exponent);
}

inline std::string refusal_of(const Experiment& e, const Request& request) {
  return softamp::test::refusal<std::invalid_argument>([&] { brief_of(e, request); });
}

/// Directed modes are run and recorded; random bits and paths without a stochastic mode would do nothing.
inline void expect_every_mode_runs(const Experiment& e) {
  Request request;
  request.formats = {kBf16};
  request.roundings = {RoundingMode::kUp};
  const Outcome up = brief_of(e, request);
  ASSERT_FALSE(up.checks.empty());
  for (const Check& check : up.checks) {
    EXPECT_EQ(check.against, Against::kRecorded) << check.what;
    EXPECT_FALSE(check.ours.empty());
  }
  request.samples = 5;
  EXPECT_EQ(refusal_of(e, request), e.name +
                                        ": --samples without stochastic among --rounding, where it does nothing: "
                                        "expected --rounding stochastic as well, or no --samples");
  request.samples = {};
  request.bits = 5;
  EXPECT_NE(refusal_of(e, request).find("--bits without stochastic"), std::string::npos);
  request.roundings.push_back(RoundingMode::kStochastic);
  EXPECT_EQ(refusal_of(e, request), "");
}

/// Equal seeds give equal rows, on one thread too.
inline void expect_seed_decides_rows(const Experiment& e, Request request) {
  request.seed = 5;
  const Json once = rows(brief_of(e, request));
  EXPECT_EQ(once, rows(brief_of(e, request)));
  {
    const tbb::global_control one(tbb::global_control::max_allowed_parallelism, 1);
    EXPECT_EQ(once, rows(brief_of(e, request)));
  }
  request.seed = 6;
  EXPECT_NE(once, rows(brief_of(e, request)));
}

inline void expect_interrupt_is_obeyed(const Experiment& e, const Request& request = {}) {
  Watch watch({}, [] { return true; });
  EXPECT_THROW(e.run(request, watch), Interrupted);
}

}  // namespace softamp::reproduce
