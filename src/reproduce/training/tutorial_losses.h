// The tutorial's second running sum: the losses of one epoch, added up in half precision.
#pragma once

#include "src/reproduce/experiment.h"

namespace softamp::reproduce {

/// Adds a table of 1562 equal losses added up in fp16, to nearest and stochastically, and its checks, to `outcome`.
/// samples: stochastic sums of each loss, at the sites sum_site(fp16, random_bits, 1 ..). done: called now and then
/// with the total number of additions done, of kLossAdditions per sample; it may throw.
void add_losses(Outcome& outcome, uint64_t samples, int random_bits, uint64_t seed,
                const std::function<void(double additions)>& done);

/// Additions of all losses together, per sample.
constexpr double kLossAdditions = 9 * 1562.0;
constexpr int kLossCount = 9;

}  // namespace softamp::reproduce
