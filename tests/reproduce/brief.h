// The brief form of an experiment as tests ask for it; results_test.cpp looks at all of what it finds.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>

#include "src/reproduce/experiment.h"

namespace softamp::reproduce {

inline Request brief_request(uint64_t seed = 0, std::optional<uint64_t> samples = {}) {
  Request request;
  request.brief = true;
  request.seed = seed;
  request.samples = samples;
  return request;
}

inline Outcome outcome_of(const Experiment& e, const Request& request) {
  Watch watch;
  return e.run(request, watch);
}
inline Outcome brief_of(const Experiment& e, Request request) {
  request.brief = true;
  return outcome_of(e, request);
}

inline void expect_all_agree(const Outcome& o) {
  EXPECT_FALSE(o.checks.empty());
  for (const Check& c : o.checks) EXPECT_TRUE(c.agrees) << c.what << ": ours " << c.ours << ", theirs " << c.theirs;
}

}  // namespace softamp::reproduce
