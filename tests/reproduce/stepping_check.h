// What the experiments that step in time answer alike: directed modes, options without effect, an interrupt.
#pragma once

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "src/reproduce/experiment.h"

namespace softamp::reproduce {

inline std::string refusal_of(const Experiment& e, Request request) {
  request.brief = true;
  Watch watch;
  try {
    e.run(request, watch);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return {};
}

/// Directed modes are run and recorded; random bits and paths without a stochastic mode would do nothing.
inline void expect_every_mode_runs(const Experiment& e) {
  Request request;
  request.formats = {kBf16};
  request.roundings = {RoundingMode::kUp};
  request.brief = true;
  Watch watch;
  const Outcome up = e.run(request, watch);
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

inline void expect_interrupt_is_obeyed(const Experiment& e, const Request& request = {}) {
  Watch watch({}, [] { return true; });
  EXPECT_THROW(e.run(request, watch), Interrupted);
}

}  // namespace softamp::reproduce
