#include "src/program/study/study_grid.h"

#include "src/program/usage.h"

#include "softamp/names/names.h"
#include "src/files/input_file.h"
#include "src/text/comma_list.h"
#include "src/text/read_json.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>

namespace softamp::program {
namespace {

constexpr size_t kTooMany = std::numeric_limits<size_t>::max();

/// kTooMany where it does not fit.
size_t product(size_t a, size_t b) { return b != 0 && a > kTooMany / b ? kTooMany : a * b; }

/// Otherwise the later axis would silently override the earlier, and rows that look different would be equal.
void check_axes(const std::vector<std::vector<StudyCase>>& axes) {
  std::vector<std::string> before;
  for (const auto& axis : axes) {
    std::vector<std::string> here;
    for (const StudyCase& c : axis)
      for (const auto& [key, value] : c) {
        if (std::find(before.begin(), before.end(), key) != before.end())
          throw UsageError("'" + key +
                           "' is varied twice; expected each setting on one axis: one --grid, or the cases");
        here.push_back(key);
      }
    before.insert(before.end(), here.begin(), here.end());
  }
}

/// Keys that a study does not vary: they change no bit, or the study sets them itself.
void check_key(const std::string& place, const std::string& key) {
  if (key == "seed") throw UsageError(place + ": 'seed': expected --seeds N, from the settings' seed on");
  if (key == "threads" || key == "backend" || key == "program")
    throw UsageError(place + ": '" + key + "' decides no result; expected a setting that does");
}

std::string text_of(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  return value.is_null() ? "-" : value.dump();
}

StudyCase read_case(const std::string& place, const Json& object) {
  if (!object.is_object() || object.empty())
    throw UsageError(place + ": " + object.dump() + ": expected an object of settings");
  StudyCase result;
  for (const auto& [key, value] : object.items()) {
    check_key(place, key);
    result.emplace_back(key, value);
  }
  return result;
}

}  // namespace

size_t StudyPlan::rows() const {
  size_t count = 1;
  for (const auto& axis : axes) count = product(count, axis.size());
  return count;
}

void StudyPlan::check_size() const {
  const size_t count = product(rows(), static_cast<size_t>(seeds));
  if (count <= kMostRuns) return;
  std::string sizes;
  for (const auto& axis : axes) sizes += (sizes.empty() ? "" : " x ") + std::to_string(axis.size());
  throw UsageError("the study has " + sizes + " settings with " + std::to_string(seeds) + " seeds each, " +
                   (count == kTooMany ? "more than 2^64" : std::to_string(count)) + " runs; expected at most " +
                   std::to_string(kMostRuns));
}

TrainSettings StudyPlan::settings_of(size_t setting) const {
  SettingChanges changes;
  size_t stride = rows();
  for (const auto& axis : axes) {
    stride /= axis.size();
    const StudyCase& chosen = axis[setting / stride % axis.size()];
    changes.insert(changes.end(), chosen.begin(), chosen.end());
  }
  std::string place = "setting";
  for (const auto& [key, value] : changes) place += " " + key + "=" + text_of(value);
  const TrainSettings result = with_changes(settings, changes, place);
  try {
    result.validate();
  } catch (const std::invalid_argument& e) {
    throw UsageError(place + ": " + e.what());
  }
  return result.spelled_out();
}

std::vector<std::string> StudyPlan::keys() const {
  std::vector<std::string> keys;
  for (const auto& axis : axes)
    for (const StudyCase& c : axis)
      for (const auto& [key, value] : c)
        if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
  return keys;
}

std::vector<std::string> StudyPlan::values(size_t setting) const {
  const TrainSettings chosen = settings_of(setting);
  Json all = read_json(chosen.to_json(true, true));
  all["mechanism"] = chosen.mechanism;  // even if it is none
  std::vector<std::string> values;
  for (const std::string& key : keys()) values.push_back(text_of(all.at(key)));
  return values;
}

std::vector<StudyRun> StudyPlan::runs() const {
  check_axes(axes);
  check_size();
  std::vector<TrainSettings> cases;
  for (size_t setting = 0; setting < rows(); ++setting) cases.push_back(settings_of(setting));
  try {
    TrainSettings::refuse_idle(cases);
  } catch (const std::invalid_argument& e) {
    throw UsageError(e.what());
  }
  std::vector<StudyRun> runs;
  for (size_t setting = 0; setting < cases.size(); ++setting) {
    TrainSettings row = std::move(cases[setting]);
    settle_data(row);
    row.program = "softamp study";
    row.threads = 1;  // the runs are done in parallel
    for (int64_t s = 0; s < seeds; ++s) {
      runs.push_back({setting, row});
      runs.back().settings.seed = row.seed + static_cast<uint64_t>(s);
    }
  }
  return runs;
}

StudyPlan read_study(const std::string& file) {
  return parse_study(files::read_input(file, "a JSON file that describes a study", kMostWrittenBytes), file);
}

StudyPlan parse_study(std::string_view text, const std::string& file) {
  const Json document = read_json(text, file, {kMostWrittenBytes});
  if (!document.is_object()) throw UsageError(file + ": expected an object with settings, grid, cases, seeds");
  StudyPlan plan;
  for (const auto& [key, value] : document.items()) {
    const std::string place = file + ": " + key;
    if (key == "settings") {
      plan.settings = TrainSettings::from_json(value.dump(), place);
    } else if (key == "seeds") {
      const auto seeds = whole_number_in<int64_t>(value, 1, 1000000);
      if (!seeds) throw UsageError(place + ": " + value.dump() + ": expected a whole number in 1..1000000");
      plan.seeds = *seeds;
    } else if (key == "grid") {
      if (!value.is_object()) throw UsageError(place + ": " + value.dump() + ": expected an object of lists");
      for (const auto& [setting, choices] : value.items()) {
        check_key(place, setting);
        if (!choices.is_array() || choices.empty())
          throw UsageError(place + ": " + setting + ": " + choices.dump() + ": expected a list of values");
        std::vector<StudyCase> axis;
        for (const Json& choice : choices) axis.push_back({{setting, choice}});
        plan.axes.push_back(std::move(axis));
      }
    } else if (key == "cases") {
      if (!value.is_array() || value.empty())
        throw UsageError(place + ": " + value.dump() + ": expected a list of objects");
      std::vector<StudyCase> axis;
      for (const Json& object : value) axis.push_back(read_case(place, object));
      plan.axes.push_back(std::move(axis));
    } else {
      throw UsageError(file + ": " + unknown_name_message("key", key, {"settings", "grid", "cases", "seeds"}));
    }
  }
  return plan;
}

std::vector<StudyCase> parse_grid(const std::string& text) {
  const auto [key, values] = split_assignment("--grid", text);
  check_key("--grid", key);
  std::vector<StudyCase> axis;
  for (const std::string& value : split_at_commas(values)) {
    if (value.empty()) throw UsageError("--grid: '" + text + "': expected KEY=VALUE,VALUE,... without empty values");
    axis.push_back({{key, setting_value(key, value)}});
  }
  return axis;
}

StudyCase parse_case(const std::string& text) {
  StudyCase result;
  for (const std::string& part : split_at_commas(text)) {
    const auto [key, value] = split_assignment("--case", part);
    check_key("--case", key);
    result.emplace_back(key, setting_value(key, value));
  }
  return result;
}

}  // namespace softamp::program
