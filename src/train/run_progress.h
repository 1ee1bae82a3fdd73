// How far a training run has come: what a checkpoint says beside the trainer's state.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "softamp/train/training_run.h"

namespace softamp::train_detail {

struct RunProgress {
  int64_t skipped = 0;
  double epoch_sum = 0;              ///< of the running epoch's losses, in order
  std::vector<double> epoch_losses;  ///< means of the finished epochs, the warm-up's not among them
  std::vector<Evaluation> evaluations;
  int64_t log_lines = 0;  ///< after line 1
  std::string data;       ///< XXH3-128 of the training images and labels
  std::string recipe;     ///< of the mechanism's recipe, whatever file it stands in; "": none

  /// Doubles as texts, since JSON has neither NaN nor infinities.
  std::string to_json() const;
  /// Throws std::exception where the text is not one that to_json made.
  static RunProgress from_json(const std::string& text);
};

}  // namespace softamp::train_detail
