// Finished runs of a study in a folder, each in its own file, and the key of a kept run.
#pragma once

#include "src/program/study/study_runs.h"
#include "src/reproduce/kept_folder.h"

#include <array>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace softamp::program {

/// Facts about the images that a study's runs read: each set is loaded once.
class StudyData {
 public:
  /// The training images of a run; settings.data has been settled.
  int64_t train_images(const TrainSettings& settings) { return facts(settings).train_images; }
  /// One hash of the bytes of images and labels, for any folder and packing; "" for the generated set, which the
  /// settings describe.
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
/// used only by the same program: same version, same executable file and same version of the arithmetic.
class KeptRuns {
 public:
  KeptRuns(std::filesystem::path folder, StudyData& data);

  /// Empty if there is no file, or one of another program. Throws UsageError if the file is no run of a study.
  std::optional<StudyResult> find(const TrainSettings& settings);

  /// Call before the first keep(). Throws UsageError as reproduce::make_folder.
  void make_folder() const;
  /// For any thread. Throws std::runtime_error if the file cannot be written.
  void keep(const TrainSettings& settings, const StudyResult& result);

 private:
  std::filesystem::path file_of(const TrainSettings& settings);

  std::filesystem::path folder_;
  StudyData& data_;
  reproduce::Program program_;
  std::mutex mutex_;
};

}  // namespace softamp::program
