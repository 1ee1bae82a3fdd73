// softamp rewrite --advise: which of Gaudi's recipes suits a graph (MIXED_PRECISION H21), by what its outputs lose.
#pragma once

#include "src/program/rewrite/rewrite_runs.h"

#include "softamp/precision/precision_report.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace softamp::program {

/// One way to convert a graph, and what its outputs lose.
struct Candidate {
  std::string name;  ///< as Mechanism::text
  int64_t nodes = 0, converted = 0, casts = 0;
  double largest = 0, mean = 0;  ///< over all elements of all floating outputs: Distance
};

/// Runs a graph and its conversions on the same values, rounded to nearest.
class Adviser {
 public:
  /// Throws UsageError without a floating output.
  explicit Adviser(const RewriteRuns& runs);

  Candidate judge(const std::string& name, const std::function<Colouring(const OpGraph&)>& colour) const;
  /// A recipe of block formats, of a softamp graph: `converted` are products, `casts` quantisations.
  Candidate judge(const std::string& name, const GraphRewrite& quantized) const;
  size_t outputs() const { return before_.size(); }

 private:
  std::vector<Tensor> outputs_of_run(const RunnableGraph& graph) const;
  void measure(const RunnableGraph& after, Candidate& c) const;

  const RewriteRuns& runs_;
  std::vector<std::string> outputs_;  ///< the floating ones
  std::vector<Tensor> before_;
};

/// The verdict: "Full", "Basic" or neither, with the rule and the figures.
std::string advice(const Candidate& full, const Candidate& basic, double tolerance);

}  // namespace softamp::program
