// The graph of `softamp rewrite` as something that runs, before and after: what --advise and --evaluate stand on.
#pragma once

#include "src/program/graph_input.h"

#include "softamp/graph/graph_json.h"
#include "softamp/precision/casts.h"
#include "softamp/precision/precision_report.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace softamp::program {

class RewriteRuns {
 public:
  /// fetches [=the file's outputs, or what nothing reads]. Placeholders and variables that are given no value, and
  /// whose graph has none for them, are drawn from the seed: floating placeholders normal with deviation 1, variables
  /// as glorot_uniform by their paths; integers and bools are 0. A value of another node with one floating output takes
  /// the place of what it computes, in its dtype. Throws UsageError for a value of another name or shape.
  RewriteRuns(GraphFile file, std::vector<std::string> fetches, GivenValues values, uint64_t seed);
  /// The same of a GraphDef; faults are those of import_graph.
  RewriteRuns(GraphDefFile file, std::vector<std::string> fetches, GivenValues values, uint64_t seed);

  /// The arithmetic of all runs [=that of the graph's file, else ieee].
  void set_preset(Preset preset) { preset_ = preset; }

  /// With the fetches preserved.
  OpGraph picture() const;
  const std::vector<std::string>& fetches() const { return fetches_; }
  const Graph& softamp_graph() const { return file_.graph; }  ///< not of a GraphDef
  RunnableGraph before() const;
  /// By a plan of the picture's; of a GraphDef, by default that of the file itself.
  RunnableGraph after(const CastPlan& plan) const;
  RunnableGraph after(const GraphDefFile& rewritten) const { return import(rewritten); }
  /// Of a rewrite of softamp_graph(). Variables of a pass are as one execution leaves them: delayed scaling has its
  /// factors from the values at hand.
  RunnableGraph after(const GraphRewrite& rewrite) const;

 private:
  RunnableGraph import(const GraphDefFile& file) const;
  RunnableGraph own(Graph graph, const std::vector<PassVariable>& state = {}) const;
  RunnableGraph with_all_values(RunnableGraph graph) const;
  RunnableGraph with_inner(RunnableGraph graph) const;
  GivenValues values() const;

  GraphFile file_;
  std::optional<GraphDefFile> def_;
  std::vector<std::string> fetches_;
  GivenValues given_;
  std::map<std::string, Tensor> inner_;  ///< by node: values of tensors inside the graph
  uint64_t seed_;
  std::optional<Preset> preset_;
};

/// The values of ports of a graph, and what else a run with these options gives.
RunResult run_once(const RunnableGraph& graph, const std::vector<std::string>& ports, const ExecutorOptions& options);

/// How far tensors lie from others: differences in units of the largest magnitude that the others have.
struct Distance {
  double largest = 0, sum = 0;
  int64_t elements = 0;
  /// Infinite where an element that was finite is so no longer, and where a tensor of zeros is no longer one.
  void add(const Tensor& was, const Tensor& is);
  double mean() const { return elements ? sum / static_cast<double>(elements) : 0; }
};

/// What is fetched where nothing is said: the file's outputs, or what nothing reads.
std::vector<std::string> outputs_of(const GraphFile& file);

}  // namespace softamp::program
