#include "src/program/study/study_runs.h"

#include "softamp/findings/exception.h"
#include "softamp/precision/loss_scale.h"
#include "softamp/train/training_run.h"
#include "src/files/claim.h"
#include "src/machine/machine_memory.h"
#include "src/machine/progress.h"
#include "src/program/study/memory_gate.h"
#include "src/program/study/study_kept.h"
#include "src/program/study/study_queue.h"
#include "src/program/study/study_threads.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <iostream>
#include <limits>
#include <map>
#include <mutex>
#include <set>
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
  /// kept, keys: where results are also stored, and under which names; null: nowhere.
  Workers(const std::vector<StudyRun>& runs, const StudyRunning& how, KeptRuns* kept, std::vector<std::string> keys,
          std::vector<std::optional<StudyResult>>& results, uint64_t steps)
      : runs_(runs),
        how_(how),
        queue_(runs, kept, std::move(keys), seed_by_seed(runs), results,
               {[this] { return stopped(); },
                [this](const StudyResult& result) {
                  steps_ += result.losses.size();
                  ++begun_runs_;
                },
                [this](size_t count, const std::string& holder) { say_waiting(count, holder); }}),
        memory_(engine::machine_memory()),
        gate_(memory_.bytes,
              [this](uint64_t bytes, int inside) {
                std::cerr << "softamp study: warning: fewer runs at a time than --jobs: a run needs " << bytes
                          << " bytes, " << inside << " others are under way, and this process gets at most "
                          << memory_.text() << '\n';
              }),
        progress_("study", std::max<uint64_t>(1, steps), "steps") {
    for (const std::optional<StudyResult>& result : results) begun_runs_ += result.has_value();
  }

  void run(size_t count) {
    work_on_threads(
        count, [this] { work(); },
        [count](size_t threads, const std::string& why) {
          std::cerr << "softamp study: warning: " << threads << " runs at a time, not " << count
                    << ": no further thread: " << why << '\n';
        });
    if (error_) std::rethrow_exception(error_);
    if (!stopped()) std::call_once(begun_, how_.begun);  // where others did all
  }

 private:
  bool stopped() const { return failed_ || (how_.stop && how_.stop()); }

  void work() {
    std::optional<size_t> run;
    try {
      while ((run = queue_.next())) {
        RunInputs read;
        std::optional<StudyResult> result = train(runs_[*run], read);
        if (!result) break;
        queue_.keep(*run, std::move(read), *std::move(result));
        run.reset();
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!error_) error_ = std::current_exception();
      failed_ = true;
    }
    if (run) queue_.give_up(*run);
  }

  void say_waiting(size_t count, const std::string& holder) {
    std::call_once(begun_, how_.begun);
    if (!how_.progress) return;
    const std::lock_guard lock(mutex_);
    progress_.clear();
    std::cerr << "softamp study: " << count << (count == 1 ? " run is" : " runs are")
              << " done by other processes, as by " << holder << "; this one waits for them\n";
  }

  std::optional<StudyResult> train(const StudyRun& run, RunInputs& read) {
    StudyResult result;
    ++begun_runs_;
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
    output.count_exponents = how_.exponents;
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
      queue_.alive();
      if (!how_.progress) return;
      const std::unique_lock lock(mutex_, std::try_to_lock);
      if (lock && progress_.due())
        progress_.update(done, "run " + std::to_string(begun_runs_) + " of " + std::to_string(runs_.size()));
    };
    try {
      const RunSummary summary = run_training(run.settings, output);
      if (!summary.finished) return std::nullopt;
      if (!summary.evaluations.empty()) {
        const Evaluation& e = summary.evaluations.back();
        result.images = e.images;
        result.predictions = e.kind == NetworkOutput::Kind::kClasses  ? e.images
                             : e.kind == NetworkOutput::Kind::kValues ? 0
                                                                      : e.predictions;
        result.correct = e.correct;
        result.test_loss = e.loss;
      }
      if (summary.mechanism) {
        result.low_share = summary.mechanism->low_share;
        result.casts = summary.mechanism->casts;
      }
      result.verdict = summary.verdict;
      result.replica_drift = summary.replica_drift;
      result.exponents = summary.exponents;
      result.seconds = summary.seconds;
      result.images_per_second = summary.images_per_second;
    } catch (const FloatingPointError& e) {
      result.stopped = e.what();
    } catch (const ContinuousOverflow& e) {
      result.stopped = e.what();  // an outcome of training, as errors of files are not
    }
    if (how_.exponents && !result.exponents) result.exponents.emplace();
    return result;
  }

  const std::vector<StudyRun>& runs_;
  const StudyRunning& how_;
  std::atomic<uint64_t> steps_{0};
  std::atomic<size_t> begun_runs_{0};  ///< here, before, or by other processes
  std::atomic<bool> failed_{false};
  RunQueue queue_;
  engine::MachineMemory memory_;
  MemoryGate gate_;
  std::once_flag begun_;
  std::mutex mutex_;
  std::exception_ptr error_;
  Progress progress_;
};

std::set<std::string> keys_of_kept(const std::vector<std::string>& keys,
                                   const std::vector<std::optional<StudyResult>>& results) {
  std::set<std::string> kept;
  for (size_t i = 0; i < keys.size(); ++i)
    if (results[i]) kept.insert(keys[i]);
  return kept;
}

}  // namespace

double StudyResult::final_loss() const {
  if (!stopped.empty() || losses.empty()) return std::numeric_limits<double>::quiet_NaN();
  const size_t tail = std::max<size_t>(1, losses.size() / 10);
  double total = 0;
  for (size_t i = losses.size() - tail; i < losses.size(); ++i) total += losses[i];
  return total / static_cast<double>(tail);
}

double StudyResult::accuracy_percent() const {
  if (predictions == 0) return std::numeric_limits<double>::quiet_NaN();
  return 100 * static_cast<double>(correct) / static_cast<double>(predictions);
}

std::vector<std::optional<StudyResult>> run_study(const std::vector<StudyRun>& runs, const StudyRunning& how) {
  StudyData data;
  std::optional<KeptRuns> kept;
  if (!how.folder.empty()) kept.emplace(how.folder, data, how.exponents);
  std::vector<std::optional<StudyResult>> results(runs.size());
  std::vector<std::string> keys(kept ? runs.size() : 0);
  uint64_t steps = 0;
  size_t missing = 0;
  const bool visible = how.progress && isatty(STDERR_FILENO) == 1;
  for (size_t i = 0; i < runs.size(); ++i) {
    if (kept) {
      keys[i] = kept->key(runs[i].settings);
      results[i] = kept->find(keys[i]);
    }
    if (results[i]) continue;
    ++missing;
    if (visible) steps += steps_of(runs[i].settings, data);
  }
  if (missing == 0) {
    how.begun();
  } else {
    if (kept) kept->make_folder();
    const size_t cores = std::max(1u, std::thread::hardware_concurrency());
    const size_t jobs = how.jobs > 0 ? static_cast<size_t>(how.jobs) : cores;
    Workers(runs, how, kept ? &*kept : nullptr, keys, results, steps).run(std::min(jobs, missing));
  }
  if (kept) kept->clean(keys_of_kept(keys, results));
  return results;
}

std::vector<RunState> states_of_runs(const std::vector<StudyRun>& runs, const std::string& folder, bool exponents) {
  StudyData data;
  KeptRuns kept(folder, data, exponents);
  check_is_folder(folder);
  std::vector<RunState> states;
  for (const StudyRun& run : runs) {
    RunState& state = states.emplace_back();
    state.key = kept.key(run.settings);
    state.result = kept.find(state.key);
    if (state.result) continue;
    if (const auto claim = files::claim_of(folder, state.key)) {
      state.holder = claim->holder.text();
      state.holder_is_gone = claim->gone;
    }
  }
  return states;
}

}  // namespace softamp::program
