// softamp rewrite --evaluate: which operation loses what, a line per node of the original graph, the worst first.
#pragma once

#include "src/program/rewrite/rewrite_runs.h"

#include <cstdint>
#include <string>
#include <vector>

namespace softamp::program {

/// What a rewrite does to one node. Errors are Distances: in units of the largest magnitude of the tensor before.
struct NodeEvaluation {
  std::string node, op;
  std::string dtype;  ///< of output 0, after the rewrite
  /// By itself: given the tensors of the run before, cast to its dtypes, its result against that of before. 0 where its
  /// dtypes are as before.
  Distance own;
  Distance before;       ///< accumulated: against the run before
  Distance binary64;     ///< accumulated: against the run in binary64
  int64_t elements = 0;  ///< of its floating outputs, after the rewrite
  /// After the rewrite, of these and of what the rewrite's casts of its inputs give: flags that were raised, and
  /// counts.
  uint8_t flags = 0;
  int64_t subnormals = 0, saturated = 0, nonfinite = 0;
};

/// Runs the graph before, after, and in binary64, rounded to nearest, and each node whose dtypes differ by itself.
/// Sorted by what a node adds by itself, then by what has come together there. Throws UsageError where no floating
/// tensor is there before and after.
std::vector<NodeEvaluation> evaluate(const RunnableGraph& before, const RunnableGraph& after);

/// The first `top` lines, columns aligned, and what they mean.
std::string evaluation_table(const std::vector<NodeEvaluation>& rows, size_t top);
std::string evaluation_csv(const std::vector<NodeEvaluation>& rows);
std::string evaluation_latex(const std::vector<NodeEvaluation>& rows, size_t top);
/// {"nodes":[{...}]}, all of them; null for an error that is infinite.
std::string evaluation_json(const std::vector<NodeEvaluation>& rows);

}  // namespace softamp::program
