// Training settings as a command line gives them: a JSON file, and single keys set after it.
#pragma once

#include "softamp/train/train_settings.h"
#include "src/files/run_files.h"

#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace softamp::program {

using Json = nlohmann::ordered_json;

/// The settings in a file; `usual` for what it does not name, and where `file` is empty. Throws std::invalid_argument
/// naming the file.
TrainSettings read_settings(const std::string& file, const TrainSettings& usual = {});

/// Text as the value of a setting: JSON where the setting takes numbers or booleans, else the text itself.
Json setting_value(const std::string& key, const std::string& text);

/// `settings` with some keys changed, all at once. Throws UsageError that begins with `place`: an unknown key, a value
/// that it does not take, values that do not go together. A change of `data` to a folder also resets `generated`.
using SettingChanges = std::vector<std::pair<std::string, Json>>;
TrainSettings with_changes(const TrainSettings& settings, const SettingChanges& changes, const std::string& place);

/// All keys of settings: "precision=", "optimizer=", ...
std::vector<std::string> setting_keys();

/// The two sides of "key=value". Throws UsageError without a key or an equals sign.
std::pair<std::string, std::string> split_assignment(const std::string& place, const std::string& text);

/// `settings` after all "key=value" of --set.
TrainSettings with_assignments(const TrainSettings& settings, const std::vector<std::string>& assignments);

/// Fixes the data: a folder, or the generated set; SOFTAMP_DATA is read here.
void settle_data(TrainSettings& settings);

/// Lists what a run with these settled settings reads: its recipe, its images.
void list_inputs(files::RunFiles& files, const TrainSettings& settings);

}  // namespace softamp::program
