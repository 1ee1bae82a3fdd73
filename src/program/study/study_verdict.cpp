#include "src/program/study/study_verdict.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "src/numbers/decimal_text.h"
#include "src/train/run/verdict.h"
#include "src/train/settings/used_settings.h"

namespace softamp::program {
namespace {

constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();
constexpr double kSignificant = 0.05;

/// "float16", but "stochastic_rounding on".
std::string legend_entry(const std::string& key, const std::string& value) {
  if (key == "mechanism" && value == "none") return "float32";
  const bool speaks_for_itself = key == "precision" || key == "network" || key == "optimizer" || key == "mechanism";
  return speaks_for_itself ? value : key + " " + value;
}

/// Of runs with equal seeds, which begin with the same weights and see the same images in the same order.
StudyDifference difference(const StudyRow& row, const StudyRow& reference) {
  std::vector<double> each;
  for (size_t s = 0; s < std::min(row.losses_by_seed.size(), reference.losses_by_seed.size()); ++s)
    if (const double d = row.losses_by_seed[s] - reference.losses_by_seed[s]; std::isfinite(d)) each.push_back(d);
  const Spread spread = spread_of(each);
  StudyDifference d{spread.mean, spread.error, spread.mean / spread.error, kNotANumber, each.size()};
  if (each.size() > 1) {
    if (spread.error == 0) d.errors = spread.mean == 0 ? 0 : std::copysign(INFINITY, spread.mean);
    d.tail = train_detail::student_tail(d.errors, static_cast<int64_t>(each.size()) - 1);
  }
  return d;
}

}  // namespace

void count_outcome(StudyRow& row, const StudyResult& result) {
  if (!result.verdict) return;
  ++row.outcomes[static_cast<size_t>(result.verdict->outcome)];
  const FirstNonfinite& n = result.verdict->nonfinite;
  if (n.step >= 0 && (row.first_nonfinite.step < 0 || n.step < row.first_nonfinite.step)) row.first_nonfinite = n;
}

std::string verdict_of(const StudyRow& row) {
  using enum TrainingOutcome;
  struct Part {
    size_t count;
    std::string alone, many;
  };
  const std::string step = " at step " + std::to_string(row.first_nonfinite.step);
  const Part parts[] = {{row.outcome(kTrains), "trains", " train"},
                        {row.outcome(kAtChance), "at chance", " at chance"},
                        {row.outcome(kWorseThanGuessing), "worse than guessing", " worse than guessing"},
                        {row.outcome(kNoUpdate), "no update", " without an update"},
                        {row.outcome(kDiverged), "diverged" + step, " diverged" + step},
                        {row.stopped, "stopped", " stopped"},
                        {row.outcome(kUnclear), "unclear", " unclear"}};
  if (row.runs == 0) return "no run";
  std::string text;
  for (const Part& p : parts) {
    if (p.count == row.runs) return p.alone;
    if (p.count == 0) continue;
    text +=
        (text.empty() ? std::to_string(p.count) + " of " + std::to_string(row.runs) : ", " + std::to_string(p.count)) +
        p.many;
  }
  return text;
}

bool is_only_float32(const StudyReport& r, const StudyRow& row) {
  const auto column = [&](const char* key) { return std::find(r.keys.begin(), r.keys.end(), key) - r.keys.begin(); };
  const auto keys = static_cast<std::ptrdiff_t>(r.keys.size());
  const std::ptrdiff_t precision = column("precision"), mechanism = column("mechanism");
  if (precision == keys && mechanism == keys) return false;
  const auto in_float32 = [&](const StudyRow& other) {
    return (precision == keys || other.values[static_cast<size_t>(precision)] == "float32") &&
           (mechanism == keys || other.values[static_cast<size_t>(mechanism)] == "none");
  };
  return in_float32(row) && std::count_if(r.rows.begin(), r.rows.end(), in_float32) == 1;
}

std::optional<size_t> reference_of(const StudyReport& r) {
  if (r.rows.size() < 2) return std::nullopt;
  for (size_t i = 0; i < r.rows.size(); ++i)
    if (is_only_float32(r, r.rows[i])) return i;
  return 0;
}

void compare_with_reference(StudyReport& r) {
  const std::optional<size_t> reference = reference_of(r);
  for (StudyRow& row : r.rows)
    row.difference = reference ? difference(row, r.rows[*reference])
                               : StudyDifference{kNotANumber, kNotANumber, kNotANumber, kNotANumber, 0};
}

std::string difference_text(const StudyReport& r, size_t row) {
  const StudyDifference& d = r.rows[row].difference;
  if (reference_of(r) == row) return "reference";
  if (d.seeds == 0) return "-";
  const std::string sign = d.mean < 0 ? "" : "+";
  if (d.seeds == 1) return sign + significant_digits(d.mean, 3) + ", no se";
  if (d.errors == 0) return "equal";
  const std::string sure =
      std::isinf(d.errors) ? " in every seed"
                           : " (" + sign + fixed_places(d.errors, 1) + " se, p " + significant_digits(d.tail, 1) + ")";
  if (d.tail >= kSignificant) return sign + significant_digits(d.mean, 3) + sure;
  const double accuracy = r.rows[row].accuracy.mean - r.rows[*reference_of(r)].accuracy.mean;
  const bool contrary = d.mean > 0 ? accuracy > 0 : accuracy < 0;
  return (d.mean > 0 ? "worse by " : "better by ") + significant_digits(std::fabs(d.mean), 3) + sure +
         (contrary ? "; accuracy " + std::string(accuracy > 0 ? "+" : "") + fixed_places(accuracy, 2) + " %" : "");
}

std::string verdict_notes(const StudyReport& r) {
  std::string text;
  if (r.has_classes)
    text =
        "trains: more test images are right than guessing a class has in one of 1000 cases (binomial); without an "
        "evaluation:\nthe loss ends below ln(classes) (t test at 1 in 1000); ";
  if (r.has_others)
    text += std::string(r.has_classes ? "of other outputs than classes: " : "trains: ") +
            "the loss of the test samples is below that of\nguessing labels by their frequency or their mean, by 3.09 "
            "standard errors (1 in 1000 by chance); ";
  text += "diverged: NaN or infinity at the end, from that step on\n";
  const auto any = [&](TrainingOutcome o) {
    return std::any_of(r.rows.begin(), r.rows.end(), [o](const StudyRow& row) { return row.outcome(o) > 0; });
  };
  if (any(TrainingOutcome::kWorseThanGuessing))
    text += "worse than guessing: the loss ends above twice that of guessing\n";
  if (any(TrainingOutcome::kNoUpdate)) text += "no update: the loss scale skipped every step\n";
  const std::optional<size_t> reference = reference_of(r);
  if (!reference) return text;
  text += "reference: " + row_title(r, r.rows[*reference]) + "; against it: ";
  if (r.seeds == 1)
    return text + "difference of the final losses;\n1 seed has no standard error: take --seeds 2 or more\n";
  return text +
         "mean difference of the final losses,\nrun by run with equal seeds, and in its standard errors (se); worse "
         "or better where a paired t test over " +
         (r.complete() ? std::to_string(r.seeds) + " seeds" : "the seeds that both have") + " has p < 0.05\n";
}

std::string row_title(const StudyReport& r, const StudyRow& row) {
  std::string title;
  for (size_t k = 0; k < r.keys.size(); ++k) title += (k ? ", " : "") + legend_entry(r.keys[k], row.values[k]);
  return title;
}

std::string drift_warning_of(const StudyPlan& plan) {
  size_t rows = 0;
  for (size_t i = 0; i < plan.rows(); ++i) {
    const TrainSettings s = plan.settings_of(i);
    if (!s.replica_drift || s.replicas == 1) continue;
    OptimizerOptions options = s.trainer_options().optimizer;
    options.strict = false;  // what strictness refuses, the run itself says
    const Optimizer optimizer(options);
    const auto drawn = [&](const VariableSpec& v) {
      return s.stochastic_rounding != "off" && size_of(v.type.dtype) == 2 && !v.name.ends_with("/Compensation");
    };
    bool differ = options.weight_update == WeightUpdate::kStochastic;
    for (const DType dtype : train_detail::trained_dtypes(s)) {
      const VariableSpec weight{"", {dtype, {}}, {}, true};
      const std::vector<VariableSpec> slots = optimizer.slots(weight);
      differ = differ || (options.weight_update == WeightUpdate::kDefault && drawn(weight)) ||
               std::any_of(slots.begin(), slots.end(), drawn);
    }
    rows += differ;
  }
  if (rows == 0) return {};
  return "replica_drift: in " + std::to_string(rows) + " of " + std::to_string(plan.rows()) +
         " settings each replica rounds its update with random bits of its own, so that their weights drift apart";
}

std::string length_warning_of(const StudyPlan& plan) {
  for (size_t i = 0; i < plan.rows(); ++i) {
    const TrainSettings s = plan.settings_of(i);
    const int64_t epochs = s.warmup_epochs + s.epochs, step = s.batch_size * s.replicas * s.accumulation;
    const int64_t steps = epochs * (s.train_images / step);
    if (s.train_images == 0 || steps >= s.steps) continue;
    const std::string there = std::to_string(steps);
    return "steps " + std::to_string(s.steps) + ": runs end after " + there + ", which " + std::to_string(epochs) +
           " epochs of " + std::to_string(s.train_images) +
           " samples have; more have train_images=0, all of the data, or more epochs";
  }
  return {};
}

}  // namespace softamp::program
