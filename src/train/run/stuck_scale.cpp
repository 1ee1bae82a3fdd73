#include "src/train/run/stuck_scale.h"

#include "src/numbers/decimal_text.h"

namespace softamp::train_detail {

std::string StuckScale::add(const StepResult& result) {
  in_a_row_ = !result.applied && result.scale_after == result.scale_before ? in_a_row_ + 1 : 0;
  if (in_a_row_ != kPatience) return {};
  const std::string least = significant_digits(static_cast<double>(result.scale_after), 6);
  return "step " + std::to_string(result.step) + ": the last " + std::to_string(kPatience) +
         " steps were skipped, and the loss scale stays at " + least +
         "; expected a wider precision, a lower learning_rate or, if it is fixed, a smaller loss_scale";
}

}  // namespace softamp::train_detail
