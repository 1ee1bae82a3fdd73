// How a step went on all ranks: they agree on it, so that each ends it alike.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "softamp/findings/exception.h"
#include "softamp/train/exchange.h"

namespace softamp::train_detail {

/// What became of the runs of this rank's replicas.
struct StepOutcome {
  uint8_t status = 0;         ///< flags, of all runs
  bool stopped = false;       ///< RunStopped
  bool sum_excepted = false;  ///< an enabled exception while gradients were summed
  int64_t elements = 0, above_edge = 0;
  std::vector<double> losses;  ///< as many on every rank
  /// The first, and where in the order of one process: the micro-batch, then the replica.
  std::optional<FloatingPointError> exception{};
  int micro_batch = 0, replica = 0;
};

/// Of all ranks together: flags of any, sums of counts, losses rank by rank, the exception that one process would have
/// met first.
StepOutcome agree(Exchange& exchange, const StepOutcome& mine, DumpFormat layout);

}  // namespace softamp::train_detail
