#include "src/program/train/train_options.h"

#include "softamp/data/images.h"
#include "softamp/train/network_file.h"
#include "src/data/image_files.h"
#include "src/precision/recipe_source.h"

#include <algorithm>

#include "src/files/input_file.h"
#include "src/program/usage.h"
#include "src/text/read_json.h"

namespace softamp::program {

TrainSettings read_settings(const std::string& file, const TrainSettings& usual) {
  if (file.empty()) return usual;
  return TrainSettings::from_json(files::read_input(file, "a JSON file of training settings", kMostWrittenBytes), file,
                                  usual);
}

Json setting_value(const std::string& key, const std::string& text) {
  static const Json defaults = read_json(TrainSettings{}.to_json(true, true));
  const bool is_text = defaults.contains(key) && defaults[key].is_string();
  const Json value = is_text ? Json(Json::value_t::discarded) : read_json_or_discard(text);
  return value.is_discarded() ? Json(text) : value;
}

TrainSettings with_changes(const TrainSettings& settings, const SettingChanges& changes, const std::string& place) {
  if (changes.empty()) return settings;
  TrainSettings result = settings;
  try {
    for (const auto& [key, value] : changes)
      result = result.with(key, value.is_string() ? value.get<std::string>() : value.dump(), place);
  } catch (const std::invalid_argument& e) {
    throw UsageError(e.what());
  }
  // Naming a folder means using it, as with --data, unless the same changes set `generated`.
  const auto changed = [&](const char* wanted) {
    return std::any_of(changes.begin(), changes.end(), [&](const auto& change) { return change.first == wanted; });
  };
  if (changed("data") && !changed("generated") && !result.data.empty()) result.generated = false;
  return result;
}

std::vector<std::string> setting_keys() {
  std::vector<std::string> keys;
  const Json defaults = read_json(TrainSettings{}.to_json(true, true));
  for (const auto& [key, value] : defaults.items()) keys.push_back(key + "=");
  return keys;
}

std::pair<std::string, std::string> split_assignment(const std::string& place, const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) throw UsageError(place + ": '" + text + "': expected KEY=VALUE");
  return {text.substr(0, equals), text.substr(equals + 1)};
}

TrainSettings with_assignments(const TrainSettings& settings, const std::vector<std::string>& assignments) {
  SettingChanges changes;
  for (const std::string& assignment : assignments) {
    const auto [key, text] = split_assignment("--set", assignment);
    changes.emplace_back(key, setting_value(key, text));
  }
  return with_changes(settings, changes, "--set");
}

void settle_data(TrainSettings& settings) {
  if (settings.generated) {
    settings.data.clear();
    return;
  }
  const auto folder = data_folder(settings.data);
  settings.data = folder ? folder->string() : std::string();
  settings.generated = !folder;
}

void list_inputs(files::RunFiles& files, const TrainSettings& settings) {
  files.reads("the recipe that is read", recipe_file(settings.mechanism_value()));
  files.reads("the network's file", names_network_file(settings.network) ? settings.network : "");
  files.reads("the file of first weights", settings.initial);
  if (!settings.generated && !settings.data.empty())
    files.reads("one of the files of data that are read", image_files(settings.data));
}

}  // namespace softamp::program
