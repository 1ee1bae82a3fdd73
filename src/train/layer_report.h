// What a rule of layers made of a gradient graph, as a report.
#pragma once

#include "softamp/precision/precision_report.h"
#include "softamp/train/models.h"

namespace softamp {

/// `before` is the graph without its casts between float32 and low precision, all in float32; colours and plan are what
/// leads from there to the graph as it is. A unit's list is the kind of its layer, its reason the rule's.
PrecisionReport report_of_layers(const Graph& graph, const Model& model);

}  // namespace softamp
