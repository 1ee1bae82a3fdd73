// Which run of a study is next: for the workers of this process, and among all processes that share the folder.
#pragma once

#include "src/files/claim.h"
#include "src/program/study/study_kept.h"

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace softamp::program {

/// Gives out each run that is not there yet, once. With a folder a run is claimed (claim.h) before it is given out, and
/// one that another process does is waited for: its result is read, or, where that process has died, it is given out
/// here. Runs of one key are one run. For any thread.
class RunQueue {
 public:
  using Results = std::vector<std::optional<StudyResult>>;
  struct Told {
    std::function<bool()> stopped;
    std::function<void(const StudyResult&)> found;  ///< a result of another process
    /// Called once, when there is nothing left to do here and others do `count` runs, one of them `holder`.
    std::function<void(size_t count, const std::string& holder)> waits;
  };

  /// kept: null without a folder. results: those that are there; the others are filled in. keys: of all runs, with a
  /// folder. order: of giving out.
  RunQueue(const std::vector<StudyRun>& runs, KeptRuns* kept, std::vector<std::string> keys, std::vector<size_t> order,
           Results& results, Told told);

  /// The run to do now. Waits while all that is missing is being done by others. Nothing: all is done, given out to
  /// this process's workers, or it is to stop. Throws what KeptRuns and Claims throw.
  std::optional<size_t> next();
  /// The end of a run that was given out.
  void keep(size_t run, RunInputs read, StudyResult result);
  void give_up(size_t run);
  /// Call now and then while a run goes on: others see then that this process lives, should the system have refused the
  /// thread that shows it.
  void alive();

 private:
  using Clock = std::chrono::steady_clock;
  enum class Look { kOurs, kDone, kOthers };

  Look look_at(size_t run);
  bool find(size_t run);
  void settle(size_t run, const StudyResult& result);
  std::optional<size_t> first_free(std::vector<size_t>& waiting);
  void wait(std::unique_lock<std::mutex>& lock);

  const std::vector<StudyRun>& runs_;
  KeptRuns* const kept_;
  const std::vector<std::string> keys_;
  std::vector<size_t> order_;
  std::vector<std::vector<size_t>> twins_;  ///< of a run: others of its key
  Results& results_;
  const Told told_;
  std::unique_ptr<files::Claims> claims_;
  std::mutex mutex_;
  std::condition_variable changed_;
  size_t at_ = 0;                ///< in order_: those before it have been looked at
  std::vector<size_t> waiting_;  ///< that others had when they were last looked at
  size_t under_way_ = 0;         ///< here
  std::chrono::milliseconds pause_{0};
  Clock::time_point looked_{}, idle_{};
  bool waits_ = false;
};

}  // namespace softamp::program
