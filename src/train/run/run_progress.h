// The progress of a training run, stored in a checkpoint beside the trainer's state.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "softamp/train/training_run.h"

namespace softamp::train_detail {

struct RunProgress {
  int64_t skipped = 0;
  double epoch_sum = 0;              ///< of the running epoch's losses, in order
  std::vector<double> epoch_losses;  ///< means of the finished epochs, without the warm-up
  std::vector<Evaluation> evaluations;
  ReplicaDriftTotals drift;
  FirstNonfinite nonfinite;           ///< that is there now
  int64_t log_lines = 0;              ///< after line 1, in the file
  std::vector<std::string> unlogged;  ///< those that follow, which the file did not take: the disk was full
  RunInputs inputs;                   ///< test_images "": the checkpoint is of a program that did not write them

  /// Doubles as texts, since JSON has neither NaN nor infinities.
  std::string to_json() const;
  /// Throws std::exception for a text that to_json did not write.
  static RunProgress from_json(const std::string& text);
};

}  // namespace softamp::train_detail
