// Faster ways to run a chunk of running sums than addition by addition with fp::add, with the same bits.
#pragma once

#include "src/sums/sum_chunk.h"

namespace softamp::detail {

/// Many stochastic sums at once, as 16-bit codes by code_arithmetic; with addressed random bits.
FirstFlags sum_by_lanes(const RunningSumSetup& setup, const SumChunk& chunk, const std::function<void(uint64_t)>& done);
inline constexpr size_t kLanesFrom = 64;  ///< fewer replicas are faster as doubles

/// A few stochastic sums, each a binary64 number: the sum is exact there, or sum_by_doubles sees that it is not, and
/// carries and cuts are integer additions to its bits.
FirstFlags sum_by_doubles(const RunningSumSetup& setup, const SumChunk& chunk,
                          const std::function<void(uint64_t)>& done);
/// Whether it can: a carry, with at most as many random bits as binary64 has beyond the format.
bool doubles_serve(const RunningSumSetup& setup);

}  // namespace softamp::detail
