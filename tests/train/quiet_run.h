// Training runs of tests: settings over others, and runs that say nothing.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "softamp/train/training_run.h"

namespace softamp::test {

/// `settings`, and `more` over them, as JSON.
inline TrainSettings settings_over(nlohmann::ordered_json settings, const std::string& more) {
  settings.update(nlohmann::ordered_json::parse(more));
  return TrainSettings::from_json(settings.dump());
}

/// 2 epochs of 64 generated images, each 8 batches of 8, without evaluation.
inline TrainSettings small_run(const std::string& more = "{}") {
  return settings_over(nlohmann::ordered_json::parse(R"({"network": "small_cnn", "generated": true, "train_images": 64,
      "test_images": 20, "batch_size": 8, "epochs": 2, "seed": 5, "evaluate": false})"),
                       more);
}

inline RunSummary quiet_run(const TrainSettings& settings, RunOutput output = {}) {
  output.quiet = true;
  output.progress = false;
  return run_training(settings, output);
}

/// The same, stopped when `after` steps are done in this process.
inline RunSummary stopped_run(const TrainSettings& settings, RunOutput output, int64_t after) {
  int64_t done = 0;
  output.on_step = [&done](const StepResult&) { ++done; };
  output.stop = [&done, after] { return done >= after; };
  return quiet_run(settings, output);
}

}  // namespace softamp::test
