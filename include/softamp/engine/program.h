// A graph made ready for one set of fetches: which operations run, in which order, and where every tensor lies.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "softamp/engine/op_kernel.h"
#include "softamp/graph/device.h"
#include "softamp/graph/graph.h"

namespace softamp::engine {

/// Kernels of a graph's nodes, one per node; null where the executor does the work itself or no kernel was needed yet.
using Kernels = std::vector<std::unique_ptr<OpKernel>>;

/// Operations whose output 0 is input 0 under another name or shape.
bool is_alias(const Node& node);
/// Operations that hold a tensor from before the step: Placeholder, Const, VariableV2.
bool is_source(const Node& node);

/// Where a tensor lies.
struct Place {
  enum class Kind : uint8_t { kArena, kFeed, kConstant, kVariable, kResult } kind = Kind::kArena;
  size_t at = 0;  ///< offset in the arena; number of the node; number of the fetch
};

/// One operation of the order. Inputs and outputs are runs of the program's pointer lists.
struct Step {
  int node;
  const OpKernel* kernel;  ///< null: the executor's own (aliases with an effect)
  size_t first_input, first_output;
};

struct Program {
  std::vector<Step> steps;
  std::vector<Place> inputs, outputs;  ///< where the pointers of the lists point
  std::vector<int> feeds;              ///< nodes of the placeholders that are read
  std::vector<Port> fetches;
  std::vector<Place> fetched;  ///< where each fetch ends up; kResult k: written into result k directly
  size_t arena_bytes = 0, scratch_bytes = 0;
  MemoryReport memory;

  // Filled by the executor, kept between runs.
  std::vector<const void*> input_pointers;
  std::vector<void*> output_pointers;
};

/// `kernels` of the steps must exist. The memory report lists the largest tensors of its fullest moment. keep_operands:
/// no result is written over its operand, so that an exception's report can still read it; the memory report is the
/// same.
Program plan_program(const Graph& graph, const std::vector<Port>& fetches, const Kernels& kernels,
                     const DeviceModel& device, bool keep_operands = false);

/// The nodes that a run of `fetches` computes, in order: what they need, and operations with an effect and what these
/// need.
std::vector<int> needed_nodes(const Graph& graph, const std::vector<Port>& fetches);

}  // namespace softamp::engine
