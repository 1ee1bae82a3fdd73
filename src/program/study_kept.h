// Finished runs of a study in a folder, each in a file of its own, and what a kept run is known by.
#pragma once

#include "src/program/study_runs.h"
#include "src/reproduce/kept_folder.h"

#include <array>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace softamp::program {

/// What a study needs to know of the images that its runs read: each set is loaded once.
class StudyData {
 public:
  /// The training images of a run; settings.data has been settled.
  int64_t train_images(const TrainSettings& settings) { return facts(settings).train_images; }
  /// The images' and labels' bytes as one hash, wherever they lie and however they are packed; "" of the generated set,
  /// which the settings describe.
  std::string contents(const TrainSettings& settings) {
    return settings.generated ? std::string() : facts(settings).contents;
  }

 private:
  struct Facts {
    int64_t train_images = 0;
    std::string contents;
  };
  const Facts& facts(const TrainSettings& settings);

  std::map<std::pair<std::string, std::array<int64_t, 3>>, Facts> facts_;  ///< by folder and size of an image
};

/// A run is kept under a hash of what decides its bits: its settings, the contents of its data and of its recipe. It is
/// taken only by the program that computed it: of its version, its file and its version of the arithmetic.
class KeptRuns {
 public:
  KeptRuns(std::filesystem::path folder, StudyData& data);

  /// Nothing where there is no file, or one of another program. Throws UsageError where the file is no run of a study.
  std::optional<StudyResult> find(const TrainSettings& settings);

  /// Asked before the first keep(). Throws UsageError as reproduce::make_folder.
  void make_folder() const;
  /// From any thread. Throws std::runtime_error where the file cannot be written.
  void keep(const TrainSettings& settings, const StudyResult& result);

 private:
  std::filesystem::path file_of(const TrainSettings& settings);

  std::filesystem::path folder_;
  StudyData& data_;
  reproduce::Program program_;
  std::mutex mutex_;
};

}  // namespace softamp::program
