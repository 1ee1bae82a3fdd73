// Graphs for people: a listing, and a drawing for Graphviz.
#pragma once

#include <string>

#include "softamp/graph/graph.h"

namespace softamp {

/// One line to a node, columns aligned: name = Op(inputs) : dtype[shape] {attributes that differ from the defaults}.
/// Dtypes and shapes that the line shows already are left out of the attributes; several outputs are listed with ", ".
///
///   x     = Placeholder()          : float16[2,3]
///   y     = MatMul(x, w)           : float16[2,4]  {transpose_b=true}
std::string text(const Graph& graph);

/// The graph in DOT: scopes as nested clusters, nodes coloured by the dtype of output 0 (float16 green, bfloat16 teal,
/// float32 blue, float64 violet, int32 orange, bool grey), arrows labelled with dtype and shape.
std::string dot(const Graph& graph);

}  // namespace softamp
