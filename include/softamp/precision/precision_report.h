// What a pass did to a graph, node by node, as a table, CSV, JSON and a drawing.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "softamp/precision/casts.h"

namespace softamp {

/// Picture, colours and plan, kept together for rendering. A value of its own: it outlives the graph.
struct PrecisionReport {
  OpGraph before;
  Colouring colours;
  CastPlan plan;
  /// What the pass did not look into, and why: functions of a GraphDef that were not written out, or stay as they are.
  std::vector<std::string> notes{};

  int64_t nodes() const { return before.size(); }
  int64_t converted_nodes() const { return plan.converted_nodes(); }
  /// Of the nodes that have a floating-point unit: how many have one in low precision afterwards, converted now or
  /// there before; 0 .. 1.
  double low_share() const;
  int64_t groups() const;  ///< of converted nodes (recipes)

  /// "summary" lines for people: mechanism, nodes, converted, casts, groups, by list and operation.
  std::string summary() const;
  /// A line per unit, and one for each output port of a fixed type that gets a cast (attribute ""): name, op,
  /// attribute, list, dtype before and after, reason, casts in and out; columns aligned.
  std::string table() const;
  /// RFC 4180, but lines end in LF, with a header line:
  /// node,op,device,layer,attribute,list,before,after,casts_in,casts_out,group,reason.
  std::string csv() const;
  /// The table for LaTeX, with the rules of the package booktabs.
  std::string latex() const;
  /// {"mechanism":...,"low":...,"nodes":n,...,"messages":[...],"notes":[...],"units":[{...}],"casts":[{...}]}; "groups"
  /// is null where the mechanism has none.
  std::string json() const;
  /// Graphviz: the rewritten graph, nodes coloured by what happened to them (low: green, kept by a list: red, unlisted:
  /// grey, preserved: blue, cast: yellow), the reason as tooltip, groups as clusters.
  std::string dot() const;
};

/// A variable that a pass has added, which the rewritten graph reads and assigns: all elements begin as `initial`.
// implements: N500
struct PassVariable {
  std::string name;
  TensorType type;
  double initial = 0;
  /// Replicas agree on the greatest of their values after each execution: a greatest magnitude.
  bool is_maximum = false;
};

/// A graph and what was done to it.
struct GraphRewrite {
  Graph graph;
  PrecisionReport report;
  std::vector<PassVariable> state{};  ///< [=none]
};

/// A pass over a finished graph; `fetches` keep name and dtype.
using GraphPass = std::function<GraphRewrite(const Graph& graph, std::span<const std::string> fetches)>;
/// Colours the picture, plans and applies.
GraphRewrite rewrite_with(const Graph& graph, ListView<std::string> fetches,
                          const std::function<Colouring(const OpGraph&)>& colour);

}  // namespace softamp
