// What the body of an operation gets beside its operands: the preset, and the addresses of its random bits.
//
// The headers of kernel/ hold the body of each operation, written once for every executor (N387): a function
// of (operands, environment, place in the output). Executors own loops, buffers and faster formulations with equal
// bits.
#pragma once

#include "softamp/numerics/random.h"
#include "softamp/numerics/semantics.h"
#include "softamp/numerics/status.h"

namespace softamp::kernel {

/// Random words drawn beforehand, in an order of their own (a tile's xoroshiro128aox), for one rounding site: the word
/// of accumulation block p (0 outside products) of output i is words[p * outputs + i].
struct WordTable {
  const uint32_t* words = nullptr;
  uint64_t outputs = 0;

  /// Where the word of the rounding at `index` lies; those of the next outputs of its block follow it.
  SOFTAMP_INLINE const uint32_t* at(uint64_t index) const {
    return words + product_block(index) * outputs + product_output(index);
  }
};

/// One operation of one run of a graph.
// implements: N91, N92, N387
struct Environment {
  static constexpr uint32_t kSites = 3;

  Semantics semantics{};
  RandomBits random{};
  uint32_t step = 0;
  uint32_t operation = 0;     ///< id of the operation's rounding site 0; its further sites follow (N78)
  WordTable table[kSites]{};  ///< used instead of `random` if it has words

  /// The random word of a rounding under `policy`: site 0 .. kSites - 1, index as in N72 (place in the output, or
  /// product_index(p, output)). 0 if the policy needs none.
  // implements: N72, N92
  SOFTAMP_INLINE uint32_t draw(const RoundingPolicy& policy, uint32_t site, uint64_t index) const {
    if (!policy.stochastic()) return 0;
    if (table[site].words) return *table[site].at(index);
    return random.bits(step, operation + site, index, policy.random_bits);
  }
};

}  // namespace softamp::kernel
