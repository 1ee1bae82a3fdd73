// The two graphs of a training step, and the names by which the trainer feeds and fetches them.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "softamp/train/trainer.h"

namespace softamp {

/// Loss and gradients of one micro-batch.
struct GradientStepGraph {
  Graph graph;
  std::string loss_scale;                 ///< placeholder, float32 scalar; empty: none is needed
  std::string loss, scaled_loss;          ///< fetches
  std::vector<VariableSpec> variables;    ///< trainable ones that have a gradient, in order of creation
  std::vector<std::string> gradients;     ///< fetches: of each, or its running sum
  std::vector<std::string> sums;          ///< variables that hold the sums of micro-batches; empty where there is one
  std::optional<PrecisionReport> report;  ///< of the pass or the rule of layers
  std::vector<PassVariable> state;        ///< variables that the pass has added
};
GradientStepGraph build_gradient_graph(const Model& model, const TrainerOptions& options);

/// The update from the gradients of all replicas, or of all slices.
struct UpdateStepGraph {
  Graph graph;
  std::vector<std::vector<std::string>> gradients;   ///< placeholders: of each variable, by replica or slice
  std::vector<std::string> reduced;                  ///< tensors: of each variable, these reduced to one
  std::string loss_scale;                            ///< placeholder, or empty
  std::vector<std::pair<std::string, DType>> rates;  ///< placeholders of the learning rate, for variables of a dtype
  std::vector<std::string> decays;     ///< placeholders beside `rates` of what AdamW takes off; empty: a constant
  std::string apply;                   ///< placeholder, bool: false if the host already knows that the step is skipped
  std::string finite;                  ///< fetch: every element of every gradient is finite
  std::vector<std::string> nonfinite;  ///< fetches: int32 counts, in the order of `checked`
  std::vector<std::string> checked;    ///< names of variables
  std::vector<std::string> unscaled;   ///< fetches: the gradients before they are clipped, in order of variables
  std::vector<std::string> applied;    ///< fetches: the gradients that the Apply operations get, in order of variables
  std::vector<VariableSpec> slots;
  bool skips_nonfinite = false;  ///< the graph itself hands on the old values where a gradient is not finite
};
/// Reads the counts of elements that are not finite from an update's run: values from 1 on begin with its fetches
/// `nonfinite`.
void count_nonfinite(const UpdateStepGraph& update, const RunResult& run, StepResult& result);

/// What the update graph does with the gradients of one variable before all else, for `count` of them, of any type: as
/// a graph of its own. whole: they are all of a step's, or the sums of equal subtrees of them; else a part, whose sum
/// is not yet divided.
struct ReductionGraph {
  Graph graph;
  std::vector<std::string> parts;  ///< placeholders
  std::string sum;                 ///< fetch
};
ReductionGraph build_reduction_graph(const TensorType& part, int count, bool whole, const TrainerOptions& options);

UpdateStepGraph build_update_graph(const GradientStepGraph& step, const Optimizer& optimizer,
                                   const TrainerOptions& options);

}  // namespace softamp
