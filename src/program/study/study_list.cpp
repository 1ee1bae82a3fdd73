#include "src/program/study/study_list.h"

#include "src/results/text.h"
#include "src/text/joined.h"
#include "src/text/read_json.h"

#include <nlohmann/json.hpp>

#include <ostream>
#include <utility>

namespace softamp::program {
namespace {

struct Counts {
  size_t done = 0, claimed = 0, missing = 0;
};

bool is_claimed(const RunState& state) { return !state.result && !state.holder.empty() && !state.holder_is_gone; }

Counts counts_of(const std::vector<RunState>& states) {
  Counts counts;
  for (const RunState& state : states)
    ++(state.result ? counts.done : is_claimed(state) ? counts.claimed : counts.missing);
  return counts;
}

std::string state_text(const RunState& state) {
  if (state.result) return "done";
  if (is_claimed(state)) return "claimed by " + state.holder;
  return state.holder.empty() ? "missing" : "missing: " + state.holder + " has died";
}

bool is_first_of_row(const std::vector<StudyRun>& runs, size_t i) {
  return i == 0 || runs[i].setting != runs[i - 1].setting;
}

/// "1 to 3, 7".
std::string ranges(const std::vector<uint64_t>& rising) {
  std::string text;
  for (size_t i = 0; i < rising.size();) {
    size_t last = i;
    while (last + 1 < rising.size() && rising[last + 1] == rising[last] + 1) ++last;
    text += (text.empty() ? "" : ", ") + std::to_string(rising[i]);
    if (last > i) text += (last == i + 1 ? ", " : " to ") + std::to_string(rising[last]);
    i = last + 1;
  }
  return text;
}

}  // namespace

void print_states(const StudyPlan& plan, const std::vector<StudyRun>& runs, const std::vector<RunState>& states,
                  std::ostream& out) {
  results::Table table{.columns = {}};
  for (const std::string& key : plan.keys()) table.columns.push_back({key});
  table.columns.insert(table.columns.end(), {{.key = "seed", .right = true}, {"key"}, {"state"}});
  std::vector<std::string> values;
  for (size_t i = 0; i < runs.size(); ++i) {
    if (is_first_of_row(runs, i)) values = plan.values(runs[i].setting);
    results::Row& row = table.rows.emplace_back(values.begin(), values.end());
    row.insert(row.end(), {runs[i].settings.seed, states[i].key, state_text(states[i])});
  }
  out << results::text(table);
  const Counts counts = counts_of(states);
  out << '\n'
      << runs.size() << (runs.size() == 1 ? " run: " : " runs: ") << counts.done << " done, " << counts.claimed
      << " claimed, " << counts.missing << " missing\n";
}

Json states_json(const StudyPlan& plan, const std::vector<StudyRun>& runs, const std::vector<RunState>& states) {
  Json json;
  json["verb"] = "study";
  json["settings"] = read_json(plan.settings.to_json());
  json["seeds"] = plan.seeds;
  const Counts counts = counts_of(states);
  json["done"] = counts.done;
  json["claimed"] = counts.claimed;
  json["missing"] = counts.missing;
  json["runs"] = Json::array();
  const std::vector<std::string> keys = plan.keys();
  std::vector<std::string> values;
  for (size_t i = 0; i < runs.size(); ++i) {
    Json line;
    if (is_first_of_row(runs, i)) values = plan.values(runs[i].setting);
    for (size_t k = 0; k < keys.size(); ++k) line["settings"][keys[k]] = values[k];
    line["seed"] = runs[i].settings.seed;
    line["key"] = states[i].key;
    line["state"] = states[i].result ? "done" : is_claimed(states[i]) ? "claimed" : "missing";
    if (is_claimed(states[i])) line["holder"] = states[i].holder;
    json["runs"].push_back(std::move(line));
  }
  return json;
}

std::vector<std::string> missing_runs(const StudyPlan& plan, const std::vector<StudyRun>& runs,
                                      const std::vector<std::optional<StudyResult>>& results) {
  std::vector<std::string> lines;
  for (size_t i = 0; i < runs.size();) {
    const size_t setting = runs[i].setting;
    std::vector<uint64_t> seeds;
    for (; i < runs.size() && runs[i].setting == setting; ++i)
      if (!results[i]) seeds.push_back(runs[i].settings.seed);
    if (seeds.empty()) continue;
    lines.push_back(joined(plan.values(setting), " ") + (seeds.size() == 1 ? ": seed " : ": seeds ") + ranges(seeds));
  }
  return lines;
}

}  // namespace softamp::program
