// One cast insertion for every mechanism that colours a finished graph: the colours of (node, type attribute) units
// become a plan of retyped attributes and shared casts; a plan is applied to a Graph here, to a GraphDef in
// graph_def.h. Layers and cells that cast for themselves while a network is built colour nothing.
//
//   OpGraph picture = op_graph(graph, fetches);
//   Colouring colours = colour_tensorflow(picture, OpLists::tf_2_3());     // or colour_recipe, colour_layers, ...
//   CastPlan plan = plan_casts(picture, colours);
//   Graph rewritten = apply(graph, plan);
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "softamp/precision/op_graph.h"

namespace softamp {

/// What a mechanism decided.
// implements: N388
struct Colouring {
  std::string mechanism;              ///< "tensorflow 2.3", "recipe full", "policy mixed_float16", "level O2"
  DType low = DType::kFloat16;        ///< (float16, bfloat16)
  std::string cast_suffix;            ///< after "<node>-<port>-CastToFp16": "-AutoMixedPrecision" [=none]
  std::vector<uint8_t> low_units;     ///< per unit of the picture: 1 if it becomes `low`; only float32 units may
  std::vector<std::string> lists;     ///< per unit: which list or rule it was under: "allow", "deny", "unlisted", ...
  std::vector<std::string> reasons;   ///< per unit: "downstream of 'dense/Exp'", "forced by pattern '.*FORCE.*'",
                                      ///< "between 'a' and 'b'"; never empty
  std::vector<int> groups;            ///< per node: number of its group of converted nodes, -1: none; empty: no groups
  std::vector<std::string> messages;  ///< what the system would log, in order: LogLevel word, space, text ("INFO ...")

  /// Changes no unit of this picture.
  static Colouring nothing(const OpGraph& graph, std::string mechanism, DType low);
  bool is_low(int unit) const { return unit >= 0 && low_units[static_cast<size_t>(unit)]; }
};

/// A Cast that will be added: one for each (output port, direction), shared by all its readers.
struct PlannedCast {
  std::string name;
  OpEdge from;
  DType to = DType::kFloat16;                ///< low: from float32; float32: from low
  std::string device;                        ///< the producer's
  std::vector<std::pair<int, int>> readers;  ///< (node, input)
  bool of_constant =
      false;  ///< of a Const, a variable or a node that reads one: TensorFlow's message does not count it
};

struct CastPlan {
  DType low = DType::kFloat16;
  std::vector<std::pair<int, int>> retyped;  ///< (node, unit of the node) that become low, in order
  std::vector<PlannedCast> casts;            ///< by producer and port; a port has at most one
  /// Inputs (node, input) that will read an existing Cast of the graph instead of a new one.
  struct Redirect {
    int node, input;
    OpEdge to;
  };
  std::vector<Redirect> redirected;
  int64_t casts_to_low() const;
  int64_t casts_to_low_counted() const;  ///< without those of constants and variables
  int64_t casts_to_float32() const;
  int64_t converted_nodes() const;  ///< that have a retyped unit
};

/// Whether a unit may become low: it is float32 and has a kernel; its node is not preserved, no Const, and not stateful
/// (except for random numbers).
bool may_become_low(const OpGraph& graph, int node, int unit_of_node, DType low);

/// The plan is type-consistent for any colours. Names: "<node>-<port>-CastToFp16<suffix>" (CastToBf16, CastToFp32),
/// made unique by "_1", "_2", ...; they do not depend on the order of nodes. An existing Cast from float32 to low (or
/// back) on a port is shared instead of adding another, so that a second run of a pass adds nothing: one that rounds,
/// waits for nothing and stands on its producer's device, where a new one would. Throws std::logic_error if a unit is
/// coloured that may not become low: an error in the mechanism; std::invalid_argument if a NextIteration and its Merge,
/// between which no cast can stand, would be of two dtypes: a mechanism that does not fit this loop.
// implements: N388
CastPlan plan_casts(const OpGraph& graph, const Colouring& colours);

/// The graph with the plan's attributes and casts, verified; nodes keep their order, each cast follows its producer.
/// Casts take the device and layer of their producer. Throws GraphError if the plan does not fit.
Graph apply(const Graph& graph, const CastPlan& plan);

}  // namespace softamp
