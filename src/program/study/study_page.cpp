#include "src/program/study/study_page.h"

#include <algorithm>
#include <cmath>

#include "softamp/numerics/version.h"
#include "src/numbers/decimal_text.h"
#include "src/pictures/html_page.h"
#include "src/program/study/study_commands.h"
#include "src/program/study/study_exponents.h"
#include "src/program/study/study_verdict.h"
#include "src/text/shell_word.h"

namespace softamp::program {
namespace {

using html::Cell;

/// A table that has more rows is folded.
constexpr size_t kShort = 12;

std::string number(double value, int places) { return std::isfinite(value) ? fixed_places(value, places) : "–"; }

/// "2.0427 ± 0.0629"; without an error of one value alone.
std::string mean_and_error(const Spread& spread, int places) {
  if (!std::isfinite(spread.mean)) return "–";
  return number(spread.mean, places) + (std::isfinite(spread.error) ? " ± " + number(spread.error, places) : "");
}

std::string counted(size_t n, const std::string& what) { return std::to_string(n) + " " + what + (n == 1 ? "" : "s"); }

std::string spaced(std::string key) {
  std::replace(key.begin(), key.end(), '_', ' ');
  return key;
}

/// "precision, loss scale and chip".
std::string listed(const std::vector<std::string>& words) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) text += (i == 0 ? "" : i + 1 == words.size() ? " and " : ", ") + words[i];
  return text;
}

std::string question(const StudyReport& r) {
  std::vector<std::string> keys;
  for (const std::string& key : r.keys) keys.push_back(spaced(key));
  const bool one_network = std::find(r.keys.begin(), r.keys.end(), "network") == r.keys.end();
  return "What " + listed(keys) + (keys.size() == 1 ? " does" : " do") + " to training" +
         (one_network ? " " + r.settings.network : "");
}

bool trains(const StudyRow& row) { return row.runs > 0 && row.outcome(TrainingOutcome::kTrains) == row.runs; }

std::string look_of_verdict(const StudyRow& row) {
  if (row.runs == 0 || row.outcome(TrainingOutcome::kUnclear) == row.runs) return "recorded";
  return trains(row) ? "agrees" : "differs";
}

std::string look_of_difference(const std::string& text) {
  return text.starts_with("worse") ? "differs" : text.starts_with("better") ? "agrees" : "";
}

/// One item of the answer: the rows of which it is true.
std::string finding(const std::string& what, const std::vector<std::string>& rows) {
  constexpr size_t kMost = 12;
  if (rows.empty()) return {};
  std::string text = what + ": ";
  for (size_t i = 0; i < std::min(rows.size(), kMost); ++i) text += (i ? "; " : "") + rows[i];
  if (rows.size() > kMost) text += "; and " + std::to_string(rows.size() - kMost) + " more";
  return "<li>" + html::escaped(text) + ".</li>\n";
}

std::string answer(const StudyReport& r) {
  std::vector<std::string> worse, better, alike, fails, none;
  for (size_t i = 0; i < r.rows.size(); ++i) {
    const StudyRow& row = r.rows[i];
    const std::string title = row_title(r, row), against = difference_text(r, i);
    if (row.runs == 0)
      none.push_back(title);
    else if (!trains(row))
      fails.push_back(title + " (" + verdict_of(row) + ")");
    if (reference_of(r) == i || row.difference.seeds < 2) continue;
    const size_t comma = against.find(", ");
    const std::string by = ": " + against.substr(comma == std::string::npos ? 0 : comma + 2);
    (against.starts_with("worse") ? worse : against.starts_with("better") ? better : alike).push_back(title + by);
  }
  std::string items = finding("Does not train in every run", fails) + finding("Not run yet", none);
  if (const auto reference = reference_of(r)) {
    const std::string than = "than " + row_title(r, r.rows[*reference]);
    items +=
        finding("A greater final loss " + than + ", beyond chance", worse) +
        finding("A smaller final loss " + than + ", beyond chance", better) +
        finding("No difference from " + row_title(r, r.rows[*reference]) + " that these seeds can tell from chance",
                alike);
  }
  if (fails.empty() && none.empty()) items = "<li>Every run trains.</li>\n" + items;
  return "<ul>\n" + items + "</ul>\n";
}

std::string results_table(const StudyReport& r) {
  html::Table table;
  table.caption = "Results by setting";
  const auto add = [&](const std::string& head, bool right) {
    table.columns.push_back(head);
    table.right.push_back(right);
  };
  const bool complete = r.complete(), compared = reference_of(r).has_value(), mechanisms = r.compares_mechanisms();
  const auto any = [&](auto&& has) { return std::any_of(r.rows.begin(), r.rows.end(), has); };
  const bool accuracy = any([](const StudyRow& row) { return std::isfinite(row.accuracy.mean); });
  const bool skipped = any([](const StudyRow& row) { return row.skipped > 0; });
  const bool stopped = any([](const StudyRow& row) { return row.stopped > 0; });
  for (const std::string& key : r.keys) add(spaced(key), false);
  if (!complete) add("runs", true);
  add("final loss", true);
  if (r.has_others) add("test loss", true);
  if (accuracy) add("accuracy, %", true);
  if (skipped) add("skipped steps", true);
  if (stopped) add("stopped", true);
  if (mechanisms) add("in low precision, %", true), add("casts", true);
  add("verdict", false);
  if (compared) add("against the reference", false);
  for (size_t i = 0; i < r.rows.size(); ++i) {
    const StudyRow& row = r.rows[i];
    std::vector<Cell>& cells = table.rows.emplace_back();
    for (const std::string& value : row.values) cells.push_back({value});
    if (!complete) cells.push_back({std::to_string(row.runs)});
    cells.push_back({mean_and_error(row.loss, 4)});
    if (r.has_others) cells.push_back({mean_and_error(row.test_loss, 4)});
    if (accuracy) cells.push_back({mean_and_error(row.accuracy, 2)});
    if (skipped) cells.push_back({number(row.skipped, 1)});
    if (stopped) cells.push_back({std::to_string(row.stopped)});
    if (mechanisms) cells.push_back({number(row.low_percent, 1)}), cells.push_back({number(row.casts, 0)});
    cells.push_back({verdict_of(row), look_of_verdict(row)});
    const std::string against = difference_text(r, i);
    if (compared) cells.push_back({against, look_of_difference(against)});
  }
  table.row_heads = r.keys.size() == 1;
  return table.text();
}

std::string notes(const StudyReport& r) {
  std::string text = "Final loss: the mean of the last tenth of the steps. ";
  text += r.seeds == 1 ? "One seed: there are no standard errors. "
                       : "Means over " + std::to_string(r.seeds) + " seeds, ± one standard error. ";
  if (!r.complete()) text += "Some runs are missing; the column runs says how many are there. ";
  std::string verdicts = verdict_notes(r);
  std::replace(verdicts.begin(), verdicts.end(), '\n', ' ');
  // Sentences for below a table of text, which has no capital letters.
  for (const auto& [from, to] : {std::pair<std::string, std::string>{"trains:", "Trains:"},
                                 {"; diverged:", ". Diverged:"},
                                 {"that step on reference:", "that step on. Reference:"},
                                 {"; against it:", ". Against it:"}})
    if (const size_t at = verdicts.find(from); at != std::string::npos) verdicts.replace(at, from.size(), to);
  while (verdicts.ends_with(' ')) verdicts.pop_back();
  return html::paragraph(text + verdicts + ".", "dim");
}

std::string curves(const StudyReport& r, const StudyPageOptions& o) {
  const Plot plot = study_plot(r, o.log);
  std::string html = html::heading("Loss curves", "curves");
  if (plot.curves.empty()) return html + html::paragraph("No run has a loss to draw.", "dim");
  std::string caption = "Mean over the seeds, each point the mean of a block of steps.";
  if (!plot.panel.empty()) caption += " Below: each curve less that of the reference.";
  if (plot.y_range) caption += " Curves that leave the range of those that train are cut off.";
  if (!o.draw)
    return html + html::paragraph("Not drawn: there was no gnuplot where this page was made. " + caption, "dim");
  Plot drawn = plot;
  drawn.title = drawn.subtitle = "";  // the page says both
  return html + html::picture(o.draw(drawn), 1, "Training loss by step, a curve for each setting", caption);
}

std::string runs_table(const StudyPlan& plan, const std::vector<StudyRun>& runs,
                       const std::vector<std::optional<StudyResult>>& results) {
  html::Table table;
  table.caption = "Every run";
  for (const std::string& key : plan.keys()) table.columns.push_back(spaced(key)), table.right.push_back(false);
  for (const char* head : {"seed", "final loss", "right in the test set", "skipped steps"})
    table.columns.emplace_back(head), table.right.push_back(true);
  for (const char* head : {"outcome", "first NaN or infinity"})
    table.columns.emplace_back(head), table.right.push_back(false);
  std::vector<std::string> values;
  size_t setting = plan.rows();
  for (size_t i = 0; i < std::min(runs.size(), kRunsOnPage); ++i) {
    if (runs[i].setting != setting) values = plan.values(setting = runs[i].setting);
    std::vector<Cell>& cells = table.rows.emplace_back();
    for (const std::string& value : values) cells.push_back({value});
    cells.push_back({std::to_string(runs[i].settings.seed)});
    if (!results[i]) {
      cells.insert(cells.end(), {{"–"}, {"–"}, {"–"}, {"no run", "recorded"}, {""}});
      continue;
    }
    const StudyResult& result = *results[i];
    const FirstNonfinite first = result.verdict ? result.verdict->nonfinite : FirstNonfinite{};
    cells.push_back({number(result.final_loss(), 6)});
    cells.push_back(
        {result.predictions > 0 ? std::to_string(result.correct) + " of " + std::to_string(result.predictions) : "–"});
    cells.push_back({std::to_string(result.skipped)});
    cells.push_back({result.verdict ? name_of(result.verdict->outcome)
                                    : "stopped: " + result.stopped.substr(0, result.stopped.find('\n'))});
    cells.push_back({first.step < 0 ? "" : "step " + std::to_string(first.step) + ": " + first.text()});
  }
  std::string content = table.text();
  if (runs.size() > kRunsOnPage)
    content += html::paragraph("The first " + std::to_string(kRunsOnPage) + " of " + std::to_string(runs.size()) +
                                   " runs; softamp study --runs-csv lists all.",
                               "dim");
  return html::folded("Every run, by seed (" + std::to_string(runs.size()) + ")", content, runs.size() <= kShort);
}

std::string settings(const StudyPlan& plan) {
  const std::vector<std::string> varied = plan.keys();
  html::Table changed, rest;
  changed.caption = "Settings of all runs that are not the default";
  rest.caption = "Settings of all runs that are the default";
  for (html::Table* table : {&changed, &rest}) {
    table->columns = {"setting", "value"};
    table->row_heads = true;
  }
  for (const NamedSetting& s : named_settings(plan.settings)) {
    if (std::find(varied.begin(), varied.end(), s.key) != varied.end()) continue;
    (s.changed ? changed : rest).rows.push_back({{s.key}, {s.value}});
  }
  std::string html = html::heading("Settings", "settings");
  for (const auto& axis : plan.axes) {
    constexpr size_t kMost = 24;
    std::vector<std::string> cases;
    for (const StudyCase& c : axis) {
      std::string text;
      for (const auto& [key, value] : c)
        text += (text.empty() ? "" : ", ") + key + "=" + (value.is_string() ? value.get<std::string>() : value.dump());
      cases.push_back(text);
    }
    std::string text = "Compared: ";
    for (size_t i = 0; i < std::min(cases.size(), kMost); ++i) text += (i ? "; " : "") + cases[i];
    if (cases.size() > kMost) text += "; and " + std::to_string(cases.size() - kMost) + " more";
    html += html::paragraph(text + ".");
  }
  if (plan.axes.size() > 1) html += html::paragraph("Every one of these with every other.");
  if (!changed.rows.empty()) html += changed.text();
  return html + html::folded("Settings that are the default (" + std::to_string(rest.rows.size()) + ")", rest.text());
}

std::string commands(const StudyPlan& plan, const std::vector<StudyRun>& runs, const StudyReport& r,
                     const StudyPageOptions& o) {
  const bool counted = std::any_of(r.rows.begin(), r.rows.end(), [](const StudyRow& row) { return row.exponents; });
  const std::string out =
      std::string(counted ? " --histograms" : "") + " \\\n  --out " + shell_word(o.folder.empty() ? "runs" : o.folder);
  std::string html = html::heading("To repeat it", "commands");
  html += html::paragraph(
      "The study, kept in a folder; the same command continues where one was interrupted, and with more processes they "
      "share the runs. Settings that are not named have the defaults of this version.");
  html += html::lines_to_copy(study_command(plan, Named::kChanged, out));
  html +=
      html::folded("Which of its runs are done (--list), and this page of those that are (--collect)",
                   html::lines_to_copy(study_command(plan, Named::kChanged, out + " --list")) +
                       html::lines_to_copy(study_command(
                           plan, Named::kChanged, out + " --collect --report page.html" + (o.log ? " --log" : ""))));
  html += html::folded("The study with every setting", html::lines_to_copy(study_command(plan, Named::kAll, out)));
  std::string each;
  for (size_t i = 0; i < std::min(runs.size(), kRunsOnPage); ++i)
    each += train_command(runs[i].settings, Named::kChanged) + (i + 1 < runs.size() ? "\n" : "");
  if (runs.size() > kRunsOnPage)
    each += "# the first " + std::to_string(kRunsOnPage) + " of " + std::to_string(runs.size()) + " runs\n";
  return html + html::folded("Each run by itself (" + std::to_string(runs.size()) + ")", html::lines_to_copy(each));
}

}  // namespace

std::string study_page(const StudyPlan& plan, const std::vector<StudyRun>& runs,
                       const std::vector<std::optional<StudyResult>>& results, const StudyReport& report,
                       const StudyPageOptions& options) {
  const size_t there = results.size() - static_cast<size_t>(std::count(results.begin(), results.end(), std::nullopt));
  const std::string title = question(report);
  std::string body = "<h1>" + html::escaped(title) + "</h1>\n";
  body += html::paragraph(counted(report.rows.size(), "setting") + ", " +
                              (there == runs.size() ? "" : std::to_string(there) + " of ") +
                              counted(runs.size(), "run") + ": " + study_description(report) + ".",
                          "dim");
  body += answer(report);
  body += html::heading("Results", "results") + results_table(report) + notes(report);
  std::string stops;
  for (const StudyRow& row : report.rows)
    if (row.stopped)
      stops += html::paragraph(
          "Stopped: " + row_title(report, row) + ": " + row.first_stop.substr(0, row.first_stop.find('\n')), "bad");
  body += stops + curves(report, options) + exponents_on_page(report, options, 2);
  body += html::heading("Runs", "runs") + runs_table(plan, runs, results);
  body += settings(plan) + commands(plan, runs, report, options);
  body += "<footer class=\"dim\">softamp " + html::escaped(SOFTAMP_VERSION) + ", arithmetic " +
          std::to_string(kArithmeticVersion) +
          ". The same settings give the same figures, to the last bit, on any machine.</footer>\n";
  return html::page(title, body);
}

}  // namespace softamp::program
