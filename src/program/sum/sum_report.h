// The output of `softamp sum`: for people, for machines, and as a plot.
#pragma once

#include "src/program/options.h"

#include "softamp/pictures/plot.h"
#include "softamp/sums/running_sum.h"

#include <iosfwd>
#include <string>
#include <vector>

namespace softamp::program {

/// An experiment and its outcome.
struct SumReport {
  std::string value, start;  ///< as typed
  RunningSumSetup setup;
  RoundingOptions rounding;
  RunningSum sum;
};

void print_sum(const SumReport& report, std::ostream& out);

/// Fields: see docs of the verb; `exact` is start + count * addend of the rounded numbers, `decimal` of those typed.
Json sum_json(const SumReport& report, const std::vector<std::string>& plots);

/// The running sums against the exact line; `nearest` is the same experiment rounded to nearest (or the only sum).
Plot sum_plot(const SumReport& report, const RunningSum& nearest);

}  // namespace softamp::program
