// The brief form of an experiment as tests ask for it, what it found as one text, and that the seed alone decides it.
#pragma once

#include <gtest/gtest.h>

#include <oneapi/tbb/global_control.h>

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

/// Settings, tables and checks.
inline std::string whole_text(const Outcome& o) {
  std::string all = o.settings.dump();
  for (const Table& t : o.tables)
    for (const auto& row : t.rows)
      for (const Json& cell : row) all += cell.dump() + ",";
  for (const Check& c : o.checks) all += c.what + c.ours;
  return all;
}

/// `request` gives the same on one thread, and something else for another seed.
inline void expect_seed_decides(const Experiment& e, Request request) {
  const auto once = [&](uint64_t seed) {
    request.seed = seed;
    return whole_text(outcome_of(e, request));
  };
  const std::string first = once(0);
  EXPECT_NE(first, once(1)) << "another seed";
  const tbb::global_control one(tbb::global_control::max_allowed_parallelism, 1);
  EXPECT_EQ(first, once(0)) << "one thread";
}

}  // namespace softamp::reproduce
