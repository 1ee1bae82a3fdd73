// An experiment of the tests' own: every kind of cell, curve and check, and texts that files must escape.
#pragma once

#include <cmath>
#include <limits>

#include "src/reproduce/outcome_json.h"

namespace softamp::reproduce::test {

inline Outcome fake_outcome(uint64_t seed) {
  Outcome o;
  o.settings["formats"] = {"fp16", "bf16"};
  o.settings["seed"] = seed;
  o.settings["rate"] = 0.1;
  o.tables = {
      {"sums",
       "Sums, <by> format",
       {"format", "n", "sum, \"exact\"", "ours"},
       {{"fp16", 10, 0.1 + 0.2, true}, {"b|f,16", 20000, nullptr, false}, {"say \"x\"\nnow", 3, 1e-300, nullptr}}},
      {"long", "A long one", {"i"}, {}}};
  for (int i = 0; i < 100; ++i) o.tables[1].rows.push_back({i});
  Figure figure{"error", {}, "Error & <bound>."};
  figure.plot.title = "Error";
  figure.plot.x_label = "n";
  figure.plot.y_label = "error";
  figure.plot.x_log = 10;
  figure.plot.y_log = 2;
  figure.plot.y_range = PlotRange{1e-3, 4};
  const double infinity = std::numeric_limits<double>::infinity();
  figure.plot.curves = {{"nearest", CurveStyle::kBold, {1, 10, 1000}, {0.1 + 0.2, infinity, 1.0 / 3}},
                        {"stochastic", CurveStyle::kPoints, {1, 10, 1000}, {std::nan(""), -infinity, 5e-324}},
                        {"bound", CurveStyle::kReference, {1, 1000}, {1, 2}}};
  figure.plot.curves[0].colour = 3;
  figure.plot.curves[0].dashed = true;
  o.figures = {figure};
  o.seen = "The sum stops, because half a unit in the last place of it is more than what is added; <this> & that.";
  o.deviations = "Nine paths, not <ten>.";
  o.checks = {{"fp16: final sum", Against::kFigure, "0.25", "0.25", true},
              {"mean of the sums", Against::kBound, "1.0002", "within 0.01 of 1", true},
              {"order", Against::kShape, "a, b", "a before b", true},
              {"what nobody published", Against::kRecorded, "7", "-", true}};
  return o;
}

/// `runs` counts its runs.
inline Experiment fake_experiment(int* runs = nullptr) {
  Experiment e;
  e.name = "fake";
  e.summary = "An experiment of the tests' own";
  e.source = "Nobody, \"Nothing\", 1970, nowhere";
  e.options = kFormat | kSeed | kSamples | kData;
  e.samples = "paths [=10]";
  e.seconds = [](const Request& r) { return static_cast<double>(r.samples.value_or(10)); };
  e.run = [runs](const Request& r, Watch& watch) {
    if (runs) ++*runs;
    watch.at(1, 2);
    return fake_outcome(r.seed);
  };
  return e;
}

}  // namespace softamp::reproduce::test
