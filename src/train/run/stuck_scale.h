// What a training run says of a loss scale that cannot fall any more, while steps are skipped.
#pragma once

#include <cstdint>
#include <string>

#include "softamp/train/trainer.h"

namespace softamp::train_detail {

class StuckScale {
 public:
  /// Steps that are skipped one after the other, at one scale, before it is said; more than any delay of a preset.
  static constexpr int64_t kPatience = 10;

  /// Adds a step. Returns a warning at the kPatience-th skipped step in a row that left the scale as it was; else "".
  std::string add(const StepResult& result);

 private:
  int64_t in_a_row_ = 0;
};

}  // namespace softamp::train_detail
