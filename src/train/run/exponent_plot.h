// The picture that shows what a loss scale moves (Micikevicius et al., "Mixed Precision Training", ICLR 2018, figure
// 3).
#pragma once

#include "softamp/pictures/plot.h"
#include "softamp/train/exponent_totals.h"

namespace softamp::train_detail {

/// The gradients of all layers: as they were in the graph, and without the loss scale; with the edges of the 16-bit
/// format that most of them have, float16 where none has one. No title.
Plot gradient_exponents(const ExponentTotals& totals);

}  // namespace softamp::train_detail
