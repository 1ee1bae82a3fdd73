// The tables of single runs and steps.
#include <cmath>

#include "softamp/numbers/number_text.h"
#include "src/program/study/study_report.h"
#include "src/text/csv_cell.h"

namespace softamp::program {
namespace {

std::string csv_number(double value) { return "," + (std::isnan(value) ? std::string() : shortest_decimal(value)); }
std::string csv_whole(int64_t value) { return "," + std::to_string(value); }
std::string csv_text(const std::string& text) { return "," + csv_cell(text); }

std::string csv_keys(const StudyPlan& plan) {
  std::string text;
  for (const std::string& key : plan.keys()) text += csv_cell(key) + ",";
  return text + "seed";
}

std::string csv_run(const StudyPlan& plan, const StudyRun& run) {
  std::string text;
  for (const std::string& value : plan.values(run.setting)) text += csv_cell(value) + ",";
  return text + std::to_string(run.settings.seed);
}

}  // namespace

std::string study_runs_csv(const StudyPlan& plan, const std::vector<StudyRun>& runs,
                           const std::vector<std::optional<StudyResult>>& results) {
  std::string text =
      csv_keys(plan) +
      ",outcome,nonfinite_step,nonfinite_part,nonfinite_tensor,nonfinite_value,final_loss,images,correct,"
      "accuracy_percent,test_loss,skipped_steps,replica_drift_step,replica_drift,images_per_second,stopped\n";
  for (size_t i = 0; i < runs.size(); ++i) {
    if (!results[i]) continue;
    const StudyResult& r = *results[i];
    const FirstNonfinite n = r.verdict ? r.verdict->nonfinite : FirstNonfinite{};
    text += csv_run(plan, runs[i]) + csv_text(r.verdict ? name_of(r.verdict->outcome) : "stopped");
    text += n.step < 0 ? std::string(",") : csv_whole(n.step);
    text += csv_text(n.part) + csv_text(n.tensor) + csv_text(n.value);
    text += csv_number(r.final_loss()) + csv_whole(r.images) + csv_whole(r.correct) + csv_number(r.accuracy_percent());
    text += csv_number(r.test_loss);
    text += csv_whole(r.skipped);
    const bool drifts = r.replica_drift.first_step >= 0;
    text += drifts ? csv_whole(r.replica_drift.first_step) + csv_number(r.replica_drift.largest.distance) : ",,";
    text += csv_number(r.images_per_second) + csv_text(r.stopped.substr(0, r.stopped.find('\n'))) + "\n";
  }
  return text;
}

std::string study_steps_csv(const StudyPlan& plan, const std::vector<StudyRun>& runs,
                            const std::vector<std::optional<StudyResult>>& results) {
  std::string text = csv_keys(plan) + ",step,loss\n";
  for (size_t i = 0; i < runs.size(); ++i) {
    if (!results[i]) continue;
    const std::string run = csv_run(plan, runs[i]);
    const std::vector<double>& losses = results[i]->losses;
    for (size_t s = 0; s < losses.size(); ++s) text += run + "," + std::to_string(s) + csv_number(losses[s]) + "\n";
  }
  return text;
}

}  // namespace softamp::program
