// The plot of the experiment `stagnation`: running sums of ones.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "softamp/numerics/format.h"
#include "softamp/numerics/rounding.h"
#include "softamp/pictures/plot.h"

namespace softamp::reproduce {

struct StochasticCurve {
  FloatFormat format;
  int random_bits;
  uint64_t seed;
  uint32_t site;  ///< of the random words; step = addition, index 0
};

/// Sums of ones under `mode`, if given, in the formats of at most 12 bits of precision, and one stochastic sum. Without
/// curves if there is neither.
Plot stagnation_plot(const std::vector<FloatFormat>& formats, std::optional<RoundingMode> mode,
                     const std::optional<StochasticCurve>& stochastic);

}  // namespace softamp::reproduce
