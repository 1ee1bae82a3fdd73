// Runs a study's training runs in parallel, and keeps finished ones.
#pragma once

#include "softamp/train/training_run.h"
#include "src/program/study/study_grid.h"

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace softamp::program {

/// The result of a training run.
struct StudyResult {
  std::vector<double> losses;  ///< of every step
  int64_t skipped = 0;         ///< steps that were not applied
  int64_t images = 0;          ///< samples of the test set; 0: no evaluation
  int64_t predictions = 0;     ///< labels in them that are right or wrong: of classes one each, of values none
  int64_t correct = 0;         ///< of the predictions
  double test_loss = std::numeric_limits<double>::quiet_NaN();  ///< Evaluation::loss
  double seconds = 0, images_per_second = 0;
  double low_share = 0;  ///< share of the gradient graph's nodes that a mechanism put into low precision
  int64_t casts = 0;     ///< that the mechanism added
  /// Empty where the run ended early.
  std::optional<Verdict> verdict;
  ReplicaDriftTotals replica_drift;
  std::optional<ExponentTotals> exponents;  ///< where they were asked for; without steps of a run that was stopped
  std::string stopped;  ///< why the run ended early: an exception's report, a scale that always overflows; else empty

  /// The mean loss of the last tenth of the steps, at least one; NaN if the run was stopped.
  double final_loss() const;
  /// Of the predictions; NaN without any.
  double accuracy_percent() const;
};

struct StudyRunning {
  std::string folder;      ///< where finished runs are kept (study_kept.h), and shared with other processes [=nowhere]
  int jobs = 0;            ///< runs at a time (0: as many as cores)
  bool exponents = false;  ///< count them (RunOutput::count_exponents); a kept run that did not is done again
  std::function<bool()> stop;
  std::function<void()> begun;  ///< called once, when what the first run reads has been found good
  bool progress = true;
};

/// Results in the order of `runs`; empty for a run that was interrupted. Results that the folder already has are read,
/// not computed again. Any number of processes may work on one folder: each run is done by one of them, and all get all
/// results (study_queue.h). Results do not depend on the order in which runs end. Throws errors that are no outcome of
/// training: bad data, bad settings, a folder that cannot be written.
std::vector<std::optional<StudyResult>> run_study(const std::vector<StudyRun>& runs, const StudyRunning& how);

/// What a folder has of a run.
struct RunState {
  std::string key;  ///< of the run's file, KEY.json
  std::optional<StudyResult> result;
  std::string holder{};  ///< who does it now, "node7 process 4711"; "": nobody
  bool holder_is_gone = false;
};
/// In the order of `runs`; computes and writes nothing. exponents: as StudyRunning::exponents. Throws UsageError for a
/// file that is no run of a study, or where `folder` is none.
std::vector<RunState> states_of_runs(const std::vector<StudyRun>& runs, const std::string& folder, bool exponents);

}  // namespace softamp::program
