// The plot of a training run.
#pragma once

#include <span>
#include <vector>

#include "softamp/pictures/plot.h"
#include "softamp/train/train_settings.h"
#include "softamp/train/trainer.h"

namespace softamp::train_detail {

/// Mean of the last `window` values up to each position (of fewer at the start), in binary64.
std::vector<double> running_mean(std::span<const double> values, size_t window);

/// What is drawn of every step; as many numbers of each.
struct StepCurves {
  std::vector<double> losses, learning_rates, loss_scales;
  std::vector<double> gradient_norms;  ///< NaN where they are not computed

  void add(const StepResult& step);
  void append(const StepCurves& later);
};

/// The loss of every step (thin), its running mean over a fiftieth of the run (bold), and the mean of each epoch
/// (dashed). Below it strips of the learning rate and the loss scale of every step, where they change, and of the
/// gradients' norm, where there is one, with its running mean. `first`: the first step's number.
Plot loss_curve(const TrainSettings& settings, const StepCurves& steps, int64_t first,
                std::span<const double> epoch_losses, int64_t steps_per_epoch);

}  // namespace softamp::train_detail
