// What a training run came to, by stated rules (docs/TRAINING.md, "Verdicts").
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "softamp/train/trainer.h"
#include "softamp/train/training_run.h"

namespace softamp::train_detail {

/// The least number of right answers that guessing, 1 of `classes` each time, reaches on `images` images in at most one
/// of 1000 cases, by the binomial distribution; images + 1 where no number is so rare.
int64_t beyond_guessing(int64_t images, int64_t classes);

/// How likely Student's t with `freedom` (>= 1) degrees of freedom is at least as far from 0 as t, on either side.
double student_tail(double t, int64_t freedom);

/// A NaN or an infinity that is in the run now: kept while there are any, forgotten after a step that has none. Where a
/// step has several, the first in the order of computing: loss, gradient, variable.
void note_nonfinite(const StepResult& step, const Trainer& trainer, FirstNonfinite& first);

/// `losses`: of the steps of this process. `evaluation`: the last one.
Verdict verdict_of(const FirstNonfinite& nonfinite, const std::optional<Evaluation>& evaluation, int64_t classes,
                   std::span<const double> losses);

}  // namespace softamp::train_detail
