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

/// What the verdict on a run follows from.
struct RunFacts {
  FirstNonfinite nonfinite{};              ///< that is there at the end
  std::optional<Evaluation> evaluation{};  ///< after the last step
  int64_t classes = 0;                     ///< 0: the outputs are no classes
  int64_t steps = 0, skipped = 0;          ///< of the whole run
  std::span<const double> losses{};        ///< of the steps of this process, which may have resumed the run
};
Verdict verdict_of(const RunFacts& run);

}  // namespace softamp::train_detail
