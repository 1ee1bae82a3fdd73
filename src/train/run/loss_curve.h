// The plot of a training run.
#pragma once

#include <span>
#include <vector>

#include "softamp/report/plot.h"
#include "softamp/train/train_settings.h"

namespace softamp::train_detail {

/// Mean of the last `window` values up to each position (of fewer at the start), in binary64.
std::vector<double> running_mean(std::span<const double> values, size_t window);

/// The loss of every step (thin), its running mean over a fiftieth of the run (bold), and the mean of each epoch
/// (dashed). `first`: the step of losses[0].
Plot loss_curve(const TrainSettings& settings, std::span<const double> losses, int64_t first,
                std::span<const double> epoch_losses, int64_t steps_per_epoch);

}  // namespace softamp::train_detail
