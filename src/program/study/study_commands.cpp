#include "src/program/study/study_commands.h"

#include <nlohmann/json.hpp>

#include <algorithm>

#include "src/text/read_json.h"
#include "src/text/shell_word.h"
#include "src/train/settings/idle_settings.h"

namespace softamp::program {
namespace {

/// As --set, --grid and --case take it.
std::string option_text(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

bool has_comma(const StudyCase& c) {
  return std::any_of(c.begin(), c.end(),
                     [](const auto& change) { return option_text(change.second).find(',') != std::string::npos; });
}

/// The key, if the axis changes one alone, in every case the same.
std::string only_key(const std::vector<StudyCase>& axis) {
  const std::string key = axis.empty() || axis[0].empty() ? std::string() : axis[0][0].first;
  const bool same = std::all_of(axis.begin(), axis.end(), [&](const StudyCase& c) {
    return c.size() == 1 && c[0].first == key && !option_text(c[0].second).empty();
  });
  return same ? key : std::string();
}

/// Every row's changes, as one axis.
std::vector<StudyCase> merged(const std::vector<std::vector<StudyCase>>& axes) {
  std::vector<StudyCase> rows = {{}};
  for (const std::vector<StudyCase>& axis : axes) {
    std::vector<StudyCase> longer;
    for (const StudyCase& row : rows)
      for (const StudyCase& c : axis) {
        longer.push_back(row);
        longer.back().insert(longer.back().end(), c.begin(), c.end());
      }
    rows = std::move(longer);
  }
  return rows;
}

std::string case_option(const StudyCase& c) {
  std::string text;
  for (const auto& [key, value] : c) text += (text.empty() ? "" : ",") + key + "=" + option_text(value);
  return " \\\n  --case " + shell_word(text);
}

std::string grid_option(const std::string& key, const std::vector<StudyCase>& axis) {
  std::string text;
  for (const StudyCase& c : axis) text += (text.empty() ? "" : ",") + option_text(c[0].second);
  return " \\\n  --grid " + shell_word(key + "=" + text);
}

/// The program puts the cases before the grid.
std::string axes_options(const std::vector<std::vector<StudyCase>>& axes) {
  std::string text;
  bool in_order = true;
  for (size_t a = 0; a < axes.size(); ++a) in_order &= a == 0 || !only_key(axes[a]).empty();
  const std::vector<std::vector<StudyCase>> shown = in_order ? axes : std::vector<std::vector<StudyCase>>{merged(axes)};
  for (const std::vector<StudyCase>& axis : shown) {
    if (const std::string key = only_key(axis); !key.empty())
      text += grid_option(key, axis);
    else
      for (const StudyCase& c : axis) text += case_option(c);
  }
  return text;
}

/// Of the study's settings those that are asked for.
Json settings_json(const TrainSettings& settings, Named named) {
  Json all = read_json(settings.to_json()), chosen = Json::object();
  for (const NamedSetting& s : named_settings(settings))
    if (named == Named::kAll || s.changed) chosen[s.key] = all.contains(s.key) ? all[s.key] : Json(s.value);
  return chosen;
}

/// As a text for the standard input, which ends at a line of its own.
std::string as_document(const StudyPlan& plan, Named named, const std::string& more) {
  Json document;
  document["settings"] = settings_json(plan.settings, named);
  document["cases"] = Json::array();
  for (const StudyCase& row : merged(plan.axes)) {
    Json object = Json::object();
    for (const auto& [key, value] : row) object[key] = value;
    document["cases"].push_back(std::move(object));
  }
  document["seeds"] = plan.seeds;
  return "softamp study /dev/stdin" + more + " <<'END_OF_STUDY'\n" + document.dump(1) + "\nEND_OF_STUDY\n";
}

/// A setting may change nothing in one run of a study that it changes in another. Alone, that run refuses it.
TrainSettings without_idle(TrainSettings settings) {
  const Json defaults = read_json(TrainSettings{}.to_json());
  for (;;) {
    const std::string key = train_detail::first_idle_setting({&settings, 1}).key;
    if (key.empty()) return settings;
    Json all = read_json(settings.to_json());
    if (defaults.contains(key))
      all[key] = defaults[key];
    else
      all.erase(key);
    settings = TrainSettings::from_json(all.dump());
  }
}

std::string set_options(const TrainSettings& settings, Named named) {
  std::string text;
  for (const NamedSetting& s : named_settings(settings))
    if (named == Named::kAll || s.changed) text += " \\\n  --set " + shell_word(s.key + "=" + s.value);
  return text;
}

}  // namespace

std::vector<NamedSetting> named_settings(const TrainSettings& settings) {
  Json all = read_json(settings.to_json());
  all["mechanism"] = settings.mechanism;  // even if it is none
  Json defaults = read_json(TrainSettings{}.to_json());
  defaults["mechanism"] = TrainSettings{}.mechanism;
  std::vector<NamedSetting> named;
  for (const auto& [key, value] : all.items())
    if (key != "program" && key != "threads") named.push_back({key, option_text(value), value != defaults[key]});
  return named;
}

std::string study_command(const StudyPlan& plan, Named named, const std::string& more) {
  for (const std::vector<StudyCase>& axis : plan.axes)
    if (std::any_of(axis.begin(), axis.end(), has_comma)) return as_document(plan, named, more);
  return "softamp study" + set_options(plan.settings, named) + axes_options(plan.axes) + " \\\n  --seeds " +
         std::to_string(plan.seeds) + more + "\n";
}

std::string train_command(const TrainSettings& settings, Named named) {
  return "softamp train" + set_options(without_idle(settings), named) + "\n";
}

}  // namespace softamp::program
