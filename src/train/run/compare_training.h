// One training run on two backends in one process, step by step, up to the first element that differs.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "softamp/train/train_settings.h"
#include "softamp/train/trainer.h"

namespace softamp {

/// The first element that is not the same on both.
struct TrainingDifference {
  int64_t step = 0;    ///< from 0; -1: before the first step
  std::string part;    ///< "loss", "gradient", "parameter", "slot", "result" (of the step) or "exception"
  std::string tensor;  ///< name of the variable; of a result, the field's; "": the loss, an exception
  int replica = 0;
  int64_t index = 0;        ///< row-major
  std::string left, right;  ///< values with their bits: "0.1 (0x3dcccccd)"; texts of exceptions
};

struct TrainingComparison {
  std::string left, right;            ///< backends: "cuda", "emu"
  int64_t steps = 0;                  ///< that were equal
  int64_t tensors = 0, elements = 0;  ///< compared in all, the differing one included
  bool stopped = false;               ///< by `stop`, before the end
  std::string exception;              ///< that both steps ended with, equally: the run ends there [=""]
  std::optional<TrainingDifference> difference;
  /// "compared cuda with emu: 20 steps, 1234 tensors, 5678 elements: all equal", or a line on the difference before it.
  std::string text() const;
};

struct TrainingComparisonOptions {
  std::string other = "emu";     ///< the second backend; the first is the settings'
  int64_t steps = 20;            ///< (1 ..) whatever epochs and steps of the settings say
  std::function<bool()> stop{};  ///< true: stop after this step [=none]
  /// Before each step; with -1 before the first comparison [=none].
  std::function<void(int64_t step, Trainer& left, Trainer& right)> on_step{};
};

/// Trains with the same settings, data and seed on two backends. Compares parameters and slots before the first step;
/// after every step the loss, the gradients as the update got them, parameters, slots, and what else StepResult says,
/// each to the bit, in this order. Ends at the first difference. Throws as run_training.
TrainingComparison compare_training(const TrainSettings& settings, const TrainingComparisonOptions& options = {});

}  // namespace softamp
