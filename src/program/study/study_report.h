// The result of a study as a table, JSON and a plot.
#pragma once

#include "src/program/study/study_runs.h"

#include "softamp/pictures/plot.h"
#include "src/results/table.h"

#include <nlohmann/json.hpp>

#include <array>
#include <iosfwd>

namespace softamp::program {

/// Mean, standard deviation (n - 1) and standard error of the mean; NaN if there are too few values.
struct Spread {
  double mean, deviation, error;
};
Spread spread_of(const std::vector<double>& values);

/// The final losses of a row less those of the reference, pairs of runs with equal seeds.
struct StudyDifference {
  double mean, error;  ///< the standard error of the mean; NaN of one seed
  double errors;       ///< mean / error; NaN of one seed
  double tail;         ///< p of a paired t test, both sides; NaN of one seed
  size_t seeds;        ///< pairs in which both have a final loss
};

/// One row: a setting over its seeds. Stopped runs count only in `stopped`.
struct StudyRow {
  std::vector<std::string> values;  ///< of StudyPlan::keys()
  Json used;                        ///< dtypes and hyperparameters of its updates (used_settings.h)
  size_t runs = 0;                  ///< that are there
  size_t stopped = 0;
  Spread loss, accuracy, test_loss;   ///< accuracy in percent; NaN without an evaluation
  double skipped = 0;                 ///< steps, mean over the runs
  double images_per_second = 0;       ///< of one run on one core, mean over the runs
  double best_images_per_second = 0;  ///< of the fastest run
  double speed = 0;  ///< best_images_per_second, relative to the same row without a mechanism; NaN if there is none
  double low_percent = 0;                            ///< percentage of nodes that a mechanism put into low precision
  double casts = 0;                                  ///< casts that it added
  std::vector<double> mean_losses;                   ///< of every step, over the runs
  std::string first_stop;                            ///< why the first stopped run stopped
  std::vector<double> losses_by_seed;                ///< final losses; NaN of a run that stopped, or is missing
  std::array<size_t, kTrainingOutcomes> outcomes{};  ///< runs, by TrainingOutcome; stopped ones have none
  FirstNonfinite first_nonfinite;                    ///< of the runs that diverged, the earliest
  ReplicaDriftTotals drift;                          ///< of the run whose replicas were farthest apart
  std::optional<ExponentTotals> exponents;           ///< over the runs that counted them
  StudyDifference difference{};
  size_t outcome(TrainingOutcome o) const { return outcomes[static_cast<size_t>(o)]; }
};

struct StudyReport {
  TrainSettings settings;  ///< of all rows, before the axes
  std::vector<std::string> keys;
  std::vector<StudyRow> rows;
  int64_t seeds = 0;

  bool has_classes = false, has_others = false;  ///< rows whose networks give classes, and other outputs

  bool complete() const;             ///< every run is there; else a column n says how many are
  bool compares_mechanisms() const;  ///< adds columns: low %, casts, speed
};

/// Of the results that are there.
StudyReport study_report(const StudyPlan& plan, const std::vector<StudyRun>& runs,
                         const std::vector<std::optional<StudyResult>>& results);

/// "small_cnn, momentum, learning rate 0.01, batch 8, generated images, 2 seeds": what all rows have in common.
std::string study_description(const StudyReport& report);

void print_study(const StudyReport& report, std::ostream& out);
/// rates: with what clocks decide: images a second, relative speeds.
Json study_json(const StudyReport& report, bool rates);
results::Table study_table(const StudyReport& report, bool rates);
/// One line a run that is there: its seed, what became of it, its figures; of an exception the first line.
std::string study_runs_csv(const StudyPlan& plan, const std::vector<StudyRun>& runs,
                           const std::vector<std::optional<StudyResult>>& results, bool rates);
/// One line a step of every run that is there: its loss.
std::string study_steps_csv(const StudyPlan& plan, const std::vector<StudyRun>& runs,
                            const std::vector<std::optional<StudyResult>>& results);
/// Mean loss curves, one a row, each point the mean over a block of steps; at most 50 points; the only row in float32,
/// if there is one, is dashed. log: loss in powers of two. The legend says of a row that does not train what became of
/// it. Below, each curve less the reference's; curves of another number of steps are left out there. Curves
/// that leave the range of those that train are cut off at twice that range.
Plot study_plot(const StudyReport& report, bool log);

}  // namespace softamp::program
