#include "src/program/study/study_report.h"
#include "src/program/study/study_exponents.h"
#include "src/text/printable.h"

#include "softamp/numbers/number_text.h"
#include "softamp/numerics/format.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <ostream>
#include <set>

#include "src/numbers/decimal_text.h"
#include "src/program/study/study_verdict.h"
#include "src/results/json.h"
#include "src/results/text.h"
#include "src/text/read_json.h"
#include "src/train/settings/used_settings.h"

namespace softamp::program {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr size_t kPlotPoints = 50;
constexpr const char* kNoMechanism = "none";

double mean_of(const std::vector<double>& values) {
  double total = 0;
  for (const double v : values) total += v;
  return values.empty() ? kNone : total / static_cast<double>(values.size());
}

/// The column of a key; empty if it is not varied.
std::optional<size_t> column_of(const StudyReport& r, const char* key) {
  const auto at = std::find(r.keys.begin(), r.keys.end(), key);
  if (at == r.keys.end()) return std::nullopt;
  return static_cast<size_t>(at - r.keys.begin());
}

/// Speeds relative to the row that differs only in the mechanism.
void compare_speeds(StudyReport& r) {
  const auto mechanism = column_of(r, "mechanism");
  for (StudyRow& row : r.rows) {
    row.speed = kNone;
    if (!mechanism) continue;
    std::vector<std::string> wanted = row.values;
    wanted[*mechanism] = kNoMechanism;
    for (const StudyRow& other : r.rows)
      if (other.values == wanted) row.speed = row.best_images_per_second / other.best_images_per_second;
  }
}

const char* per_second(const StudyReport& r) { return r.has_others ? "samples/s" : "images/s"; }

/// A column behind the keys.
struct Figure {
  results::Column column;
  std::function<results::Cell(size_t row)> of;
};

/// rates: those that clocks decide, too.
std::vector<Figure> figures(const StudyReport& r, bool rates) {
  using results::Shown;
  std::vector<Figure> all;
  const auto add = [&](results::Column column, const auto& of) {
    all.push_back({std::move(column), [&r, of](size_t row) -> results::Cell { return of(r.rows[row]); }});
  };
  const auto add_number = [&](const char* key, const std::string& head, int places, Shown shown, const auto& of) {
    add({.key = key, .head = head, .right = true, .shown = shown, .places = places},
        [of](const StudyRow& row) { return results::number_or_nothing(of(row)); });
  };
  const auto add_spread = [&](const std::vector<const char*>& keys, const char* head, int places, Shown shown,
                              Spread StudyRow::*spread) {
    add_number(keys[0], head, places, shown, [spread](const StudyRow& row) { return (row.*spread).mean; });
    add_number(keys[1], "sd", places, shown, [spread](const StudyRow& row) { return (row.*spread).deviation; });
    if (keys.size() > 2)
      add_number(keys[2], "se", places, shown, [spread](const StudyRow& row) { return (row.*spread).error; });
  };
  const auto everywhere = Shown::kEverywhere, programs = Shown::kToPrograms;
  const bool mechanisms = r.compares_mechanisms();
  add({.key = "runs", .head = "n", .right = true, .shown = r.complete() ? programs : everywhere},
      [](const StudyRow& row) { return row.runs; });
  if (mechanisms) {
    add_number("low_percent", "low %", 1, everywhere, [](const StudyRow& row) { return row.low_percent; });
    add_number("casts", "", 0, everywhere, [](const StudyRow& row) { return row.casts; });
  }
  add_spread({"final_loss", "loss_sd"}, "final loss", 4, everywhere, &StudyRow::loss);
  add_spread({"test_loss", "test_loss_sd", "test_loss_se"}, "test loss", 4, r.has_others ? everywhere : programs,
             &StudyRow::test_loss);
  add_spread({"accuracy_percent", "accuracy_sd", "accuracy_se"}, "accuracy %", 2, everywhere, &StudyRow::accuracy);
  add_number("skipped_steps", "skipped", 1, everywhere, [](const StudyRow& row) { return row.skipped; });
  if (rates)
    add_number("images_per_second", per_second(r), 0, everywhere,
               [](const StudyRow& row) { return row.images_per_second; });
  if (rates && mechanisms)
    add_number("relative_speed", "speed", 2, everywhere, [](const StudyRow& row) { return row.speed; });
  add({.key = "stopped", .shown = programs}, [](const StudyRow& row) { return row.stopped; });
  add({.key = "stopped_of", .head = "stopped", .right = true, .shown = Shown::kToPeople}, [](const StudyRow& row) {
    return row.stopped ? std::to_string(row.stopped) + " of " + std::to_string(row.runs) : "0";
  });
  using enum TrainingOutcome;
  static constexpr std::pair<const char*, TrainingOutcome> kOutcomes[] = {{"trains", kTrains},
                                                                          {"at_chance", kAtChance},
                                                                          {"worse_than_guessing", kWorseThanGuessing},
                                                                          {"no_update", kNoUpdate},
                                                                          {"diverged", kDiverged}};
  for (const auto& [key, outcome] : kOutcomes)
    add({.key = key, .shown = programs}, [outcome = outcome](const StudyRow& row) { return row.outcome(outcome); });
  static constexpr std::pair<const char*, double StudyDifference::*> kDifferences[] = {
      {"difference", &StudyDifference::mean},
      {"difference_se", &StudyDifference::error},
      {"difference_in_se", &StudyDifference::errors},
      {"difference_p", &StudyDifference::tail}};
  for (const auto& [key, member] : kDifferences)
    add_number(key, "", 0, programs, [member = member](const StudyRow& row) { return row.difference.*member; });
  add({.key = "verdict"}, [](const StudyRow& row) { return verdict_of(row); });
  if (reference_of(r))
    all.push_back({{.key = "against_reference", .head = "against reference", .shown = Shown::kToPeople},
                   [&r](size_t row) -> results::Cell { return difference_text(r, row); }});
  return all;
}

}  // namespace

bool StudyReport::complete() const {
  return std::all_of(rows.begin(), rows.end(),
                     [&](const StudyRow& row) { return row.runs == static_cast<size_t>(seeds); });
}

bool StudyReport::compares_mechanisms() const { return column_of(*this, "mechanism").has_value(); }

Spread spread_of(const std::vector<double>& values) {
  const double mean = mean_of(values), n = static_cast<double>(values.size());
  if (values.size() < 2) return {mean, kNone, kNone};
  double squares = 0;
  for (const double v : values) squares += (v - mean) * (v - mean);
  const double deviation = std::sqrt(squares / (n - 1));
  return {mean, deviation, deviation / std::sqrt(n)};
}

StudyReport study_report(const StudyPlan& plan, const std::vector<StudyRun>& runs,
                         const std::vector<std::optional<StudyResult>>& results) {
  StudyReport report{plan.settings, plan.keys(), {}, plan.seeds};
  std::map<std::string, std::set<DType>> dtypes;  // rows have few models
  for (size_t setting = 0; setting < plan.rows(); ++setting) {
    StudyRow row;
    row.values = plan.values(setting);
    const TrainSettings chosen = plan.settings_of(setting);
    std::set<DType>& trained = dtypes[chosen.network + '\n' + chosen.precision + '\n' + chosen.mechanism];
    if (trained.empty()) trained = train_detail::trained_dtypes(chosen);
    row.used = read_json(train_detail::used_settings(chosen, trained));
    const bool classes = find_network(chosen.network).output.kind == NetworkOutput::Kind::kClasses;
    (classes ? report.has_classes : report.has_others) = true;
    std::vector<double> losses, accuracies, test_losses, skipped, speeds, shares, casts;
    std::vector<size_t> seen;  // runs that reached each step
    for (size_t i = 0; i < runs.size(); ++i) {
      if (runs[i].setting != setting) continue;
      if (!results[i]) {
        row.losses_by_seed.push_back(kNone);
        continue;
      }
      const StudyResult& result = *results[i];
      ++row.runs;
      row.losses_by_seed.push_back(result.final_loss());
      count_outcome(row, result);
      if (const ReplicaDriftTotals& d = result.replica_drift;
          d.first_step >= 0 && (row.drift.first_step < 0 || d.largest.distance > row.drift.largest.distance))
        row.drift = d;
      if (result.exponents) {
        if (!row.exponents) row.exponents.emplace();
        row.exponents->add(*result.exponents);
      }
      if (!result.stopped.empty()) {
        if (row.stopped++ == 0) row.first_stop = result.stopped;
        continue;
      }
      losses.push_back(result.final_loss());
      if (result.predictions > 0) accuracies.push_back(result.accuracy_percent());
      if (result.images > 0) test_losses.push_back(result.test_loss);
      skipped.push_back(static_cast<double>(result.skipped));
      speeds.push_back(result.images_per_second);
      shares.push_back(100 * result.low_share);
      casts.push_back(static_cast<double>(result.casts));
      const size_t steps = std::max(seen.size(), result.losses.size());
      seen.resize(steps);
      row.mean_losses.resize(steps);
      for (size_t s = 0; s < result.losses.size(); ++s) {
        ++seen[s];
        row.mean_losses[s] += result.losses[s];
      }
    }
    for (size_t s = 0; s < seen.size(); ++s) row.mean_losses[s] /= static_cast<double>(seen[s]);
    row.loss = spread_of(losses);
    row.accuracy = spread_of(accuracies);
    row.test_loss = spread_of(test_losses);
    row.skipped = mean_of(skipped);
    row.images_per_second = mean_of(speeds);
    row.best_images_per_second = speeds.empty() ? kNone : *std::max_element(speeds.begin(), speeds.end());
    row.low_percent = mean_of(shares);
    row.casts = mean_of(casts);
    report.rows.push_back(std::move(row));
  }
  compare_speeds(report);
  compare_with_reference(report);
  return report;
}

std::string study_description(const StudyReport& r) {
  const auto varied = [&](const char* key) { return std::find(r.keys.begin(), r.keys.end(), key) != r.keys.end(); };
  const TrainSettings& s = r.settings;
  std::string text;
  const auto say = [&](const char* key, const std::string& words) {
    if (!varied(key)) text += (text.empty() ? "" : ", ") + words;
  };
  say("network", s.network);
  if (!varied("mechanism")) say("precision", s.mechanism == kNoMechanism ? s.precision : s.mechanism);
  say("optimizer", s.optimizer);
  say("learning_rate", "learning rate " + shortest_decimal(s.learning_rate));
  say("batch_size", "batch " + std::to_string(s.batch_size));
  // Only the folder's name: plots are shown to others.
  const std::filesystem::path folder = std::filesystem::path(s.data + "/").lexically_normal().parent_path();
  say("data", s.data.empty() ? "generated images" : folder.filename().string());
  return text + ", " + std::to_string(r.seeds) + (r.seeds == 1 ? " seed" : " seeds");
}

results::Table study_table(const StudyReport& r, bool rates) {
  results::Table table{.title = study_description(r), .columns = {}};
  for (const std::string& key : r.keys) table.columns.push_back({key});
  const std::vector<Figure> all = figures(r, rates);
  for (const Figure& figure : all) table.columns.push_back(figure.column);
  for (size_t i = 0; i < r.rows.size(); ++i) {
    results::Row& row = table.rows.emplace_back(r.rows[i].values.begin(), r.rows[i].values.end());
    for (const Figure& figure : all) row.push_back(figure.of(i));
  }
  return table;
}

void print_study(const StudyReport& r, std::ostream& out) {
  out << "study: " << files::printable(study_description(r)) << "\n\n" << results::text(study_table(r, true));
  const bool mechanisms = r.compares_mechanisms(), complete = r.complete();
  if (!complete) out << "\nn: the runs that are there, of " << r.seeds << (r.seeds == 1 ? " seed" : " seeds");
  out << "\nfinal loss: mean of the last tenth of the steps; sd, se: over the seeds; " << per_second(r)
      << ": of one run on one core\n";
  if (mechanisms)
    out << "low %: nodes of the gradient graph in low precision; casts: added to it; speed: of the emulation, each "
           "row's "
           "fastest run relative to that of the mechanism none\n";
  out << verdict_notes(r);
  const auto say = [&](const char* what, const StudyRow& row, const std::string& why) {
    out << what << ':';
    for (const std::string& value : row.values) out << ' ' << files::printable(value);
    out << ": " << files::printable(why, true) << '\n';
  };
  for (const StudyRow& row : r.rows) {
    if (row.stopped) say("stopped", row, row.first_stop);
    if (const FirstNonfinite& n = row.first_nonfinite; n.step >= 0)
      say("diverged", row, "step " + std::to_string(n.step) + ": " + n.text());
    if (const ReplicaDriftTotals& d = row.drift; d.first_step >= 0)
      say("replicas drift", row,
          "their weights differ since step " + std::to_string(d.first_step) + ", by at most " +
              significant_digits(d.largest.distance, 3) + " ('" + d.largest.variable + "', step " +
              std::to_string(d.largest_step) + ")");
  }
}

Json study_json(const StudyReport& r, bool rates) {
  Json json;
  json["verb"] = "study";
  json["settings"] = read_json(r.settings.to_json());
  json["seeds"] = r.seeds;
  json["rows"] = Json::array();
  const std::vector<Figure> all = figures(r, rates);
  for (size_t i = 0; i < r.rows.size(); ++i) {
    const StudyRow& row = r.rows[i];
    Json line;
    for (size_t k = 0; k < r.keys.size(); ++k) line["settings"][r.keys[k]] = row.values[k];
    line["used"] = row.used;
    for (const Figure& figure : all)
      if (figure.column.shown != results::Shown::kToPeople) line[figure.column.key] = results::json(figure.of(i));
    if (const FirstNonfinite& n = row.first_nonfinite; n.step >= 0)
      line["nonfinite"] = {{"step", n.step}, {"part", n.part}, {"tensor", n.tensor}, {"value", n.value}};
    line["against_reference"] = difference_text(r, i);
    if (const ReplicaDriftTotals& d = row.drift; d.first_step >= 0)
      line["replica_drift"] = {{"first_step", d.first_step}, {"distance", d.largest.distance}};
    line["mean_losses"] = row.mean_losses;
    if (row.exponents) line["exponents"] = exponents_json(*row.exponents);
    if (row.stopped) line["first_stop"] = row.first_stop;
    json["rows"].push_back(std::move(line));
  }
  return json;
}

namespace {

/// The mean losses in blocks.
Curve curve_of(const StudyRow& row) {
  Curve curve;
  const size_t steps = row.mean_losses.size(), points = std::min(steps, kPlotPoints);
  for (size_t p = 0; p < points; ++p) {
    const size_t begin = steps * p / points, end = steps * (p + 1) / points;
    double total = 0;
    for (size_t s = begin; s < end; ++s) total += row.mean_losses[s];
    curve.x.push_back(0.5 * static_cast<double>(begin + end));
    curve.y.push_back(total / static_cast<double>(end - begin));
  }
  return curve;
}

/// What of an axis is shown: all points of the rows that train, with some room; what others have beyond twice that is
/// cut off, so that a curve that leaves does not flatten the rest. Nothing where all points are within, or no row
/// trains.
std::optional<PlotRange> shown_range(const StudyReport& r, const std::vector<Curve>& curves) {
  const double infinity = std::numeric_limits<double>::infinity();
  double least = infinity, greatest = -infinity, lowest = infinity, highest = -infinity;
  for (size_t i = 0; i < curves.size(); ++i)
    for (const double y : curves[i].y) {
      if (!std::isfinite(y)) continue;
      lowest = std::min(lowest, y);
      highest = std::max(highest, y);
      if (r.rows[i].outcome(TrainingOutcome::kTrains) == 0) continue;
      least = std::min(least, y);
      greatest = std::max(greatest, y);
    }
  if (!(least < greatest)) return std::nullopt;
  const double far = greatest - least, top = greatest + far, bottom = least - far;
  if (highest <= top && lowest >= bottom) return std::nullopt;
  const PlotRange range{std::max(lowest, bottom), std::min(highest, top)};
  const double room = 0.05 * (range.greatest - range.least);
  return PlotRange{range.least - room, range.greatest + room};
}

/// Points of another step count have no difference.
Curve difference_of(Curve curve, const Curve& reference) {
  if (curve.x != reference.x) return {};
  for (size_t i = 0; i < curve.y.size(); ++i) curve.y[i] -= reference.y[i];
  return curve;
}

}  // namespace

Plot study_plot(const StudyReport& r, bool log) {
  Plot plot;
  plot.title = "Training loss";
  plot.subtitle = study_description(r);
  plot.x_label = "steps";
  plot.y_label = "loss";
  plot.y_log = log ? 2 : 0;
  const std::optional<size_t> reference = reference_of(r);
  bool any = false;
  for (size_t i = 0; i < r.rows.size(); ++i) {
    const StudyRow& row = r.rows[i];
    Curve curve = curve_of(row);
    curve.style = is_only_float32(r, row) ? CurveStyle::kReference : CurveStyle::kBold;
    curve.title = row_title(r, row) + (reference == i ? " (reference)" : "");
    if (row.runs == 0 || row.outcome(TrainingOutcome::kTrains) + row.outcome(TrainingOutcome::kUnclear) < row.runs)
      curve.title += ": " + verdict_of(row);
    any |= std::any_of(curve.y.begin(), curve.y.end(), [&](double y) { return std::isfinite(y) && (!log || y > 0); });
    plot.curves.push_back(std::move(curve));
  }
  if (!any) plot.curves.clear();  // gnuplot refuses a plot in which no curve has a number
  if (!log) plot.y_range = shown_range(r, plot.curves);
  if (!reference || plot.curves.empty()) return plot;
  const Curve& zero = plot.curves[*reference];
  plot.panel_label = "difference";
  for (const Curve& curve : plot.curves) plot.panel.push_back(difference_of(curve, zero));
  if (std::none_of(plot.panel.begin(), plot.panel.end(), [](const Curve& curve) {
        return std::any_of(curve.y.begin(), curve.y.end(), [](double y) { return std::isfinite(y); });
      }))
    plot.panel.clear();
  plot.panel_range = shown_range(r, plot.panel);
  return plot;
}

}  // namespace softamp::program
