// A chunk of the independent sums of running_sum, from the first addition to the last: small enough to stay in the
// first-level cache.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "softamp/sums/running_sum.h"

namespace softamp::detail {

/// The flags of a chunk, and the first addition (from 1) that raised each; 0: none did.
struct FirstFlags {
  uint8_t flags = 0;
  uint64_t first_addition[kFlagCount] = {};

  void raise(uint8_t raised, uint64_t addition) {
    const uint8_t fresh = static_cast<uint8_t>(raised & ~flags);
    for (int b = 0; fresh >> b != 0; ++b)
      if (fresh >> b & 1) first_addition[b] = addition;
    flags = static_cast<uint8_t>(flags | raised);
  }
  void merge(const FirstFlags& other) {
    for (int b = 0; b < kFlagCount; ++b)
      if (other.flags >> b & 1)
        if (!(flags >> b & 1) || other.first_addition[b] < first_addition[b])
          first_addition[b] = other.first_addition[b];
    flags = static_cast<uint8_t>(flags | other.flags);
  }
};

/// Replicas first .. first + codes.size() - 1 of a running sum.
struct SumChunk {
  uint64_t first = 0;                               ///< a multiple of 8, so that no block of random words is shared
  std::span<uint64_t> codes;                        ///< receives the final sums
  std::span<uint64_t> last_change;                  ///< receives the last addition that changed each
  std::span<std::vector<double>> traces;            ///< of the first replicas; one place per trace addition
  const std::vector<uint64_t>* trace_at = nullptr;  ///< the numbers of additions, from 0, ascending
};

/// Runs the chunk. A deterministic one that an addition leaves unchanged is finished. done: called with the number of
/// additions done, after every kRunningSumTick; it may throw.
FirstFlags run_sum_chunk(const RunningSumSetup& setup, const SumChunk& chunk,
                         const std::function<void(uint64_t done)>& done);

inline constexpr uint64_t kRunningSumTick = uint64_t{1} << 16;

}  // namespace softamp::detail
