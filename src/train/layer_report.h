// How a rule of layers changed a gradient graph, as a report.
#pragma once

#include "softamp/precision/precision_report.h"
#include "softamp/train/models.h"

namespace softamp {

/// `before` is the graph without its casts between float32 and low precision, all in float32; colours and plan turn it
/// into `graph`. A unit's list is the kind of its layer, its reason the rule's.
PrecisionReport report_of_layers(const Graph& graph, const Model& model);

}  // namespace softamp
