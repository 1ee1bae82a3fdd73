#include "src/program/study/study_runs.h"

#include "softamp/precision/loss_scale.h"
#include "softamp/report/exception.h"
#include "softamp/train/training_run.h"
#include "src/engine/machine_memory.h"
#include "src/files/file_lock.h"
#include "src/program/study/memory_gate.h"
#include "src/program/study/study_kept.h"
#include "src/program/study/study_threads.h"
#include "src/report/progress.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <iostream>
#include <limits>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

namespace softamp::program {
namespace {

/// The most steps that a run takes; only for the progress line.
uint64_t steps_of(const TrainSettings& s, StudyData& data) {
  if (s.steps > 0) return static_cast<uint64_t>(s.steps);
  const int64_t images = s.train_images > 0 ? s.train_images : data.train_images(s);
  const int64_t step = std::max<int64_t>(1, s.batch_size * s.replicas * s.accumulation);
  return static_cast<uint64_t>((s.epochs + s.warmup_epochs) * (images / step));
}

/// All settings with their first seed, then all with their second: speeds are compared, and the load of a machine
/// changes with time.
std::vector<size_t> seed_by_seed(const std::vector<StudyRun>& runs) {
  std::vector<std::pair<size_t, size_t>> turns;  // (number of the seed, run)
  std::map<size_t, size_t> seen;
  for (size_t i = 0; i < runs.size(); ++i) turns.emplace_back(seen[runs[i].setting]++, i);
  std::sort(turns.begin(), turns.end());
  std::vector<size_t> order;
  for (const auto& [seed, run] : turns) order.push_back(run);
  return order;
}

class Workers {
 public:
  /// kept: where results are also stored; null: nowhere.
  Workers(const std::vector<StudyRun>& runs, const StudyRunning& how, KeptRuns* kept,
          std::vector<std::optional<StudyResult>>& results, uint64_t steps)
      : runs_(runs),
        how_(how),
        kept_(kept),
        results_(results),
        order_(seed_by_seed(runs)),
        memory_(engine::machine_memory()),
        gate_(memory_.bytes,
              [this](uint64_t bytes, int inside) {
                std::cerr << "softamp study: warning: fewer runs at a time than --jobs: a run needs " << bytes
                          << " bytes, " << inside << " others are under way, and this process gets at most "
                          << memory_.text() << '\n';
              }),
        progress_("study", std::max<uint64_t>(1, steps), "steps") {}

  void run(size_t count) {
    work_on_threads(
        count, [this] { work(); },
        [count](size_t threads, const std::string& why) {
          std::cerr << "softamp study: warning: " << threads << " runs at a time, not " << count
                    << ": no further thread: " << why << '\n';
        });
    if (error_) std::rethrow_exception(error_);
  }

 private:
  bool stopped() const { return failed_ || (how_.stop && how_.stop()); }

  void work() {
    while (!stopped()) {
      const size_t turn = next_++;
      if (turn >= runs_.size()) return;
      const size_t i = order_[turn];
      if (results_[i]) continue;
      try {
        RunInputs read;
        results_[i] = train(runs_[i], read);
        if (results_[i] && kept_) kept_->keep(runs_[i].settings, std::move(read), *results_[i]);
      } catch (...) {
        const std::lock_guard lock(mutex_);
        if (!error_) error_ = std::current_exception();
        failed_ = true;
      }
    }
  }

  std::optional<StudyResult> train(const StudyRun& run, RunInputs& read) {
    StudyResult result;
    struct Room {  // of the run in the machine's memory, until it ends
      MemoryGate& gate;
      uint64_t bytes = 0;
      bool inside = false;
      ~Room() {
        if (inside) gate.leave(bytes);
      }
    } room{gate_};
    RunOutput output;
    output.on_memory = [&](uint64_t bytes) {
      gate_.enter(bytes, [this] { return stopped(); });
      room.bytes = bytes;
      room.inside = true;
    };
    output.quiet = true;
    output.progress = false;
    output.stop = output.stop_within_step = [this] { return stopped(); };
    output.on_inputs = [&](const RunInputs& inputs) {
      read = inputs;
      std::call_once(begun_, how_.begun);
    };
    output.on_step = [this, &result](const StepResult& step) {
      result.losses.push_back(step.loss);
      result.skipped += !step.applied;
      const uint64_t done = ++steps_;
      if (!how_.progress) return;
      const std::unique_lock lock(mutex_, std::try_to_lock);
      if (lock) progress_.update(done);
    };
    try {
      const RunSummary summary = run_training(run.settings, output);
      if (!summary.finished) return std::nullopt;
      if (!summary.evaluations.empty()) {
        result.images = summary.evaluations.back().images;
        result.correct = summary.evaluations.back().correct;
      }
      if (summary.mechanism) {
        result.low_share = summary.mechanism->low_share;
        result.casts = summary.mechanism->casts;
      }
      result.verdict = summary.verdict;
      result.replica_drift = summary.replica_drift;
      result.seconds = summary.seconds;
      result.images_per_second = summary.images_per_second;
    } catch (const FloatingPointError& e) {
      result.stopped = e.what();
    } catch (const ContinuousOverflow& e) {
      result.stopped = e.what();  // an outcome of training, as errors of files are not
    }
    return result;
  }

  const std::vector<StudyRun>& runs_;
  const StudyRunning& how_;
  KeptRuns* kept_;
  std::vector<std::optional<StudyResult>>& results_;
  std::vector<size_t> order_;
  std::atomic<size_t> next_{0};
  std::atomic<uint64_t> steps_{0};
  std::atomic<bool> failed_{false};
  engine::MachineMemory memory_;
  MemoryGate gate_;
  std::once_flag begun_;
  std::mutex mutex_;
  std::exception_ptr error_;
  Progress progress_;
};

}  // namespace

double StudyResult::final_loss() const {
  if (!stopped.empty() || losses.empty()) return std::numeric_limits<double>::quiet_NaN();
  const size_t tail = std::max<size_t>(1, losses.size() / 10);
  double total = 0;
  for (size_t i = losses.size() - tail; i < losses.size(); ++i) total += losses[i];
  return total / static_cast<double>(tail);
}

std::vector<std::optional<StudyResult>> run_study(const std::vector<StudyRun>& runs, const StudyRunning& how) {
  StudyData data;
  std::optional<KeptRuns> kept;
  std::optional<files::FileLock> lock;  // two studies would run the same twice
  if (!how.folder.empty()) {
    kept.emplace(how.folder, data);
    if (std::filesystem::is_directory(how.folder)) lock.emplace(how.folder, "--out");
  }
  std::vector<std::optional<StudyResult>> results(runs.size());
  uint64_t steps = 0;
  size_t missing = 0;
  const bool visible = how.progress && isatty(STDERR_FILENO) == 1;
  for (size_t i = 0; i < runs.size(); ++i) {
    if (kept) results[i] = kept->find(runs[i].settings);
    if (results[i]) continue;
    ++missing;
    if (visible) steps += steps_of(runs[i].settings, data);
  }
  if (missing == 0) {
    how.begun();
    return results;
  }
  if (kept) kept->make_folder();
  if (kept && !lock) lock.emplace(how.folder, "--out");
  const size_t cores = std::max(1u, std::thread::hardware_concurrency());
  const size_t jobs = how.jobs > 0 ? static_cast<size_t>(how.jobs) : cores;
  Workers(runs, how, kept ? &*kept : nullptr, results, steps).run(std::min(jobs, missing));
  return results;
}

}  // namespace softamp::program
