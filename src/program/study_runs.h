// Runs a study's training runs side by side, and keeps what is finished.
#pragma once

#include "src/program/study_grid.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace softamp::program {

/// What a training run gave.
struct StudyResult {
  std::vector<double> losses;  ///< of every step
  int64_t skipped = 0;         ///< steps that were not applied
  int64_t images = 0;          ///< of the test set; 0: no evaluation
  int64_t correct = 0;
  double seconds = 0, images_per_second = 0;
  double low_share = 0;  ///< of the gradient graph's nodes, in low precision by a mechanism
  int64_t casts = 0;     ///< that the mechanism added
  std::string stopped;  ///< why the run ended early: an exception's report, a scale that overflows for ever; else empty

  /// The mean loss of the last tenth of the steps, at least one; NaN where the run was stopped.
  double final_loss() const;
};

struct StudyRunning {
  std::string folder;  ///< where finished runs are kept (study_kept.h) [=nowhere]
  int jobs = 0;        ///< runs at a time (0: as many as cores)
  std::function<bool()> stop;
  bool progress = true;
};

/// Results in the order of `runs`; nothing for a run that was interrupted. Results that the folder already has are
/// read, not computed again. The order in which runs end changes nothing. Throws what a run throws that is no outcome
/// of training: bad data, bad settings, a folder that cannot be written.
std::vector<std::optional<StudyResult>> run_study(const std::vector<StudyRun>& runs, const StudyRunning& how);

}  // namespace softamp::program
