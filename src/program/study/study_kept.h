// Finished runs of a study in a folder, each in its own file, and the key of a kept run.
#pragma once

#include "src/program/study/study_runs.h"
#include "src/reproduce/kept_folder.h"

#include "softamp/train/training_run.h"

#include <array>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <tuple>

namespace softamp::program {

/// Facts about the images that a study's runs read: each set is loaded once.
class StudyData {
 public:
  /// The training images of a run; settings.data has been settled.
  int64_t train_images(const TrainSettings& settings) { return facts(settings).train_images; }
  /// What a run would read now, by contents, in any folder and packing; no images where they are generated, which the
  /// settings describe. Images are those of the first call.
  RunInputs inputs(const TrainSettings& settings);

 private:
  struct Facts {
    int64_t train_images = 0;
    RunInputs inputs;
  };
  const Facts& facts(const TrainSettings& settings);

  /// By folder, network file, size of an image, how many of them the settings take, and the share of the test set.
  std::map<std::tuple<std::string, std::string, std::array<int64_t, 3>, int64_t, int64_t, double>, Facts> facts_;
};

/// Whether a run that is kept, or the claim of one (claim.h), can have this name.
bool may_be_kept_run(const std::string& name);

/// A run is kept under a hash of what decides its bits: its settings, the contents of its data and of its recipe. It is
/// used only by the same program: same version, same executable file and same version of the arithmetic.
class KeptRuns {
 public:
  /// exponents: a run that has not counted them is not there.
  KeptRuns(std::filesystem::path folder, StudyData& data, bool exponents = false);

  const std::filesystem::path& folder() const { return folder_; }
  /// The name of its file without ".json", for what it would read now. One thread at a time.
  std::string key(const TrainSettings& settings);
  /// Empty if there is no file, or one of another program. For any thread. Throws UsageError if the file is no run of a
  /// study.
  std::optional<StudyResult> find(const std::string& key) const;

  /// Call before the first keep(). Throws UsageError as reproduce::make_folder.
  void make_folder() const;
  /// read: what the run has found, which may be other than when it was looked for; then it throws UsageError. For any
  /// thread. Throws std::runtime_error if the file cannot be written.
  void keep(const TrainSettings& settings, RunInputs read, const StudyResult& result);

  /// Removes what killed processes have left of runs that are kept, which `kept` knows by their keys: claims and parts
  /// of files; and the lock of the folder that earlier versions took.
  void clean(const std::set<std::string>& kept) const;

 private:
  std::filesystem::path file_of(const std::string& key) const { return folder_ / (key + ".json"); }

  std::filesystem::path folder_;
  StudyData& data_;
  bool exponents_;
  reproduce::Program program_;
  std::mutex mutex_;
};

/// Throws UsageError where `folder` is there and is none, which --list and --collect would take for an empty one.
void check_is_folder(const std::filesystem::path& folder);

}  // namespace softamp::program
