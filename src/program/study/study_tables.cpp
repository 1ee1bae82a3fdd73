// The tables of single runs and steps.
#include <initializer_list>

#include "src/program/study/study_report.h"
#include "src/results/csv.h"

namespace softamp::program {
namespace {

std::vector<results::Column> columns_of(const StudyPlan& plan, std::initializer_list<const char*> further) {
  std::vector<results::Column> columns;
  for (const std::string& key : plan.keys()) columns.push_back({key});
  columns.push_back({"seed"});
  for (const char* key : further) columns.push_back({key});
  return columns;
}

results::Row row_of(const StudyPlan& plan, const StudyRun& run) {
  const std::vector<std::string> values = plan.values(run.setting);
  results::Row row(values.begin(), values.end());
  row.emplace_back(run.settings.seed);
  return row;
}

}  // namespace

std::string study_runs_csv(const StudyPlan& plan, const std::vector<StudyRun>& runs,
                           const std::vector<std::optional<StudyResult>>& results, bool rates) {
  results::Table table{
      .columns = columns_of(plan, {"outcome", "nonfinite_step", "nonfinite_part", "nonfinite_tensor", "nonfinite_value",
                                   "final_loss", "images", "correct", "accuracy_percent", "test_loss", "skipped_steps",
                                   "replica_drift_step", "replica_drift", "stopped"})};
  if (rates) table.columns.push_back({"images_per_second"});
  for (size_t i = 0; i < runs.size(); ++i) {
    if (!results[i]) continue;
    const StudyResult& r = *results[i];
    const FirstNonfinite n = r.verdict ? r.verdict->nonfinite : FirstNonfinite{};
    const ReplicaDriftTotals& drift = r.replica_drift;
    results::Row& row = table.rows.emplace_back(row_of(plan, runs[i]));
    row.emplace_back(r.verdict ? name_of(r.verdict->outcome) : "stopped");
    row.push_back(n.step < 0 ? results::Cell() : results::Cell(n.step));
    row.insert(row.end(),
               {n.part, n.tensor, n.value, results::number_or_nothing(r.final_loss()), r.images, r.correct,
                results::number_or_nothing(r.accuracy_percent()), results::number_or_nothing(r.test_loss), r.skipped});
    if (drift.first_step >= 0)
      row.insert(row.end(), {drift.first_step, drift.largest.distance});
    else
      row.resize(row.size() + 2);
    row.emplace_back(r.stopped.substr(0, r.stopped.find('\n')));
    if (rates) row.push_back(results::number_or_nothing(r.images_per_second));
  }
  return results::csv(table);
}

std::string study_steps_csv(const StudyPlan& plan, const std::vector<StudyRun>& runs,
                            const std::vector<std::optional<StudyResult>>& results) {
  const std::vector<results::Column> columns = columns_of(plan, {"step", "loss"});
  std::string text = results::csv_head(columns);
  for (size_t i = 0; i < runs.size(); ++i) {
    if (!results[i]) continue;
    results::Row row = row_of(plan, runs[i]);
    const size_t first = row.size();
    row.resize(first + 2);
    const std::vector<double>& losses = results[i]->losses;
    for (size_t s = 0; s < losses.size(); ++s) {
      row[first] = s, row[first + 1] = losses[s];
      text += results::csv_line(columns, row);
    }
  }
  return text;
}

}  // namespace softamp::program
