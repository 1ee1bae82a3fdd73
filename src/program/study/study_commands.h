// The command lines that repeat a study, and each of its runs.
#pragma once

#include "src/program/study/study_grid.h"

#include <string>

namespace softamp::program {

/// Which settings a command names.
enum class Named : uint8_t {
  kChanged,  ///< those that are not the default of this version
  kAll,
};

/// "softamp study --set ... --grid ... --seeds N" with `more`, option by option on lines of their own: the same rows in
/// the same order. Where options cannot say it (a comma in a value that is compared), the study is given as JSON.
std::string study_command(const StudyPlan& plan, Named named, const std::string& more = {});

/// "softamp train --set ..." of one run: what the study did under these settings, seed and all.
std::string train_command(const TrainSettings& settings, Named named);

/// A setting and its value as `--set` takes it; changed: it is not the default.
struct NamedSetting {
  std::string key, value;
  bool changed;
};
/// All settings but `program` and `threads`, which decide nothing.
std::vector<NamedSetting> named_settings(const TrainSettings& settings);

}  // namespace softamp::program
