// The running-sum experiment: one number added again and again, each addition exact and then rounded once.
//
// It shows swamping: rounded to nearest, the sum stops when the addend falls below half a quantum of the sum; rounded
// stochastically it keeps growing, on average by the addend.
#pragma once

#include "softamp/numerics/format.h"
#include "softamp/numerics/semantics.h"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace softamp {

/// What to add, and how.
struct RunningSumSetup {
  FloatFormat format = kFp16;  ///< a format of at most 24 bits of precision [=fp16]
  Semantics semantics{};       ///< [=ieee, nearest even]
  uint64_t addend = 0;         ///< code of the number that is added
  uint64_t start = 0;          ///< code of the sum before the first addition
  uint64_t count = 1;          ///< (1 .. 2^32 - 1) additions
  uint64_t replicas = 1;       ///< (1 .. 2^20) independent sums; deterministic ones are all equal
  RandomEngine engine = RandomEngine::kPhilox;
  uint64_t seed = 0;
  uint32_t operation = 0;  ///< (0 .. 2^24 - 1) rounding site of Philox's bits (N78); xoroshiro128aox has none [=0]
  /// Record the sums after about this many evenly spaced additions, start and end included; 0: no record.
  uint64_t trace_points = 0;
  uint64_t trace_replicas = 200;  ///< record only this many replicas, the first ones [=200]
};

struct RunningSum {
  std::vector<uint64_t> codes;        ///< final sum of each replica
  std::vector<uint64_t> last_change;  ///< per replica: the last addition (from 1) that changed the sum; 0: none did
  uint8_t flags = 0;
  uint64_t first_addition[kFlagCount] = {};  ///< per flag bit: the first addition (from 1) that raised it; 0: none
  double exact = 0;                          ///< start + count * addend, rounded once to double
  std::string exact_text;                    ///< the same to its last digit

  std::vector<uint64_t> trace_additions;    ///< numbers of additions done
  std::vector<std::vector<double>> traces;  ///< per traced replica: the sum after so many additions
};

/// Runs the experiment.
///
/// Random bits of a stochastic rounding: with Philox RandomBits{seed}.bits(step = addition from 0, operation,
/// index = replica) (N72). With xoroshiro128aox the order of the hardware: the replicas are the lanes of one vector on
/// tile 0 after setSeed(seed, 0), and every addition spends one draw per group of four lanes.
///
/// A deterministic sum that one addition leaves unchanged is finished: no later addition can change it. Replicas run on
/// oneTBB's threads; the result does not depend on them. `progress`, if given, is called now and then on the calling
/// thread with the number of additions done; if it throws, the run ends. Throws std::invalid_argument for a count,
/// replicas, operation, addend or start out of range (the last two must be finite).
RunningSum running_sum(const RunningSumSetup& setup, const std::function<void(uint64_t done)>& progress = {});

/// Mean, and standard deviation with n - 1, in binary64, terms in order of index. NaN where undefined.
struct MeanAndDeviation {
  double mean, sd;
};
MeanAndDeviation mean_and_deviation(std::span<const double> values);

}  // namespace softamp
