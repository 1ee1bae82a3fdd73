// The highest loss scale at which a run does not overflow (TUTORIAL G23): raise it until the first step overflows.
#pragma once

#include <cstdint>

#include "softamp/train/train_settings.h"

namespace softamp {

struct LossScaleSearch {
  double scale = 0;      ///< the largest power of two without an overflow; 0: even 1 overflows
  double overflows = 0;  ///< the next one, which does; 0: none up to 2^64
};

/// Tries 1, 2, 4, ... on the first step's batches from the first values of the variables. A step overflows where an
/// operation raises overflow, or an element of a gradient is not finite; enabled exceptions do not stop the search.
/// Gradients change during training, so use a somewhat lower scale. Throws as run_training.
LossScaleSearch find_max_loss_scale(const TrainSettings& settings);

}  // namespace softamp
