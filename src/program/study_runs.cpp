#include "src/program/study_runs.h"

#include "softamp/report/exception.h"
#include "softamp/train/training_run.h"
#include "src/report/progress.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <limits>
#include <map>
#include <mutex>
#include <thread>

namespace softamp::program {
namespace {

namespace fs = std::filesystem;

fs::path file_of(const std::string& folder, const StudyRun& run) { return fs::path(folder) / (run.id + ".json"); }

/// Numbers that JSON has not, NaN and the infinities, are null, and come back as NaN.
double number_or_nan(const Json& value) {
  return value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>();
}

std::optional<StudyResult> read_result(const std::string& folder, const StudyRun& run) {
  const fs::path file = file_of(folder, run);
  if (folder.empty() || !fs::exists(file)) return std::nullopt;
  const std::string text = read_whole(file.string(), "the result of a run");
  try {
    const Json json = Json::parse(text);
    if (json.at("softamp_study_run") != 1) throw UsageError("not of this version");
    StudyResult result;
    for (const Json& loss : json.at("losses")) result.losses.push_back(number_or_nan(loss));
    result.skipped = json.at("skipped");
    result.images = json.at("images");
    result.correct = json.at("correct");
    result.seconds = json.at("seconds");
    result.images_per_second = json.at("images_per_second");
    result.low_share = json.value("low_share", 0.0);  // where there was a mechanism
    result.casts = json.value("casts", int64_t{0});
    result.stopped = json.at("stopped");
    return result;
  } catch (const std::exception& e) {
    throw UsageError(file.string() + ": " + e.what() + "; expected the result of a run that `softamp study` wrote");
  }
}

/// Whole or not at all.
void keep_result(const std::string& folder, const StudyRun& run, const StudyResult& result) {
  if (folder.empty()) return;
  Json json;
  json["softamp_study_run"] = 1;
  json["settings"] = Json::parse(run.settings.to_json());
  json["losses"] = result.losses;
  json["skipped"] = result.skipped;
  json["images"] = result.images;
  json["correct"] = result.correct;
  json["seconds"] = result.seconds;
  json["images_per_second"] = result.images_per_second;
  if (run.settings.mechanism != TrainSettings{}.mechanism) {
    json["low_share"] = result.low_share;
    json["casts"] = result.casts;
  }
  json["stopped"] = result.stopped;
  const fs::path file = file_of(folder, run);
  static std::atomic<int> written{0};  // two rows may have equal settings
  const fs::path partial =
      file.string() + "." + std::to_string(getpid()) + "." + std::to_string(written++) + ".partial";
  {
    std::ofstream out(partial);
    out << json.dump() << '\n';
    out.close();
    if (!out) throw UsageError(partial.string() + ": cannot be written: " + std::strerror(errno));
  }
  fs::rename(partial, file);
}

/// Steps that a run takes at most; for the progress line alone.
class StepCounter {
 public:
  uint64_t operator()(const TrainSettings& s) {
    if (s.steps > 0) return static_cast<uint64_t>(s.steps);
    int64_t images = s.train_images;
    if (images == 0) {
      const auto image = find_network(s.network).image;
      const auto key = std::make_pair(s.data, image);
      if (!counts_.contains(key))
        counts_[key] = (s.generated ? generated_images(image[0], image[1], image[2])
                                    : load_images(s.data, image[0], image[1], image[2]))
                           .train.count;
      images = counts_[key];
    }
    const int64_t step = std::max<int64_t>(1, s.batch_size * s.replicas * s.accumulation);
    return static_cast<uint64_t>((s.epochs + s.warmup_epochs) * (images / step));
  }

 private:
  std::map<std::pair<std::string, std::array<int64_t, 3>>, int64_t> counts_;
};

/// All settings with their first seed, then all with their second: speeds are compared, and a machine may be busier at
/// one time than at another.
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
  Workers(const std::vector<StudyRun>& runs, const StudyRunning& how, std::vector<std::optional<StudyResult>>& results,
          uint64_t steps)
      : runs_(runs),
        how_(how),
        results_(results),
        order_(seed_by_seed(runs)),
        progress_("study", std::max<uint64_t>(1, steps), "steps") {}

  void run(size_t count) {
    std::vector<std::thread> threads;
    for (size_t t = 0; t < count; ++t) threads.emplace_back([this] { work(); });
    for (std::thread& thread : threads) thread.join();
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
        results_[i] = train(runs_[i]);
        if (results_[i]) keep_result(how_.folder, runs_[i], *results_[i]);
      } catch (...) {
        const std::lock_guard lock(mutex_);
        if (!error_) error_ = std::current_exception();
        failed_ = true;
      }
    }
  }

  std::optional<StudyResult> train(const StudyRun& run) {
    StudyResult result;
    RunOutput output;
    output.quiet = true;
    output.progress = false;
    output.stop = [this] { return stopped(); };
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
      result.seconds = summary.seconds;
      result.images_per_second = summary.images_per_second;
    } catch (const FloatingPointError& e) {
      result.stopped = e.what();
    } catch (const std::runtime_error& e) {
      // A loss scale that overflows for ever is an outcome; what files do is not.
      if (std::strstr(e.what(), "Continuous overflow") == nullptr) throw;
      result.stopped = e.what();
    }
    return result;
  }

  const std::vector<StudyRun>& runs_;
  const StudyRunning& how_;
  std::vector<std::optional<StudyResult>>& results_;
  std::vector<size_t> order_;
  std::atomic<size_t> next_{0};
  std::atomic<uint64_t> steps_{0};
  std::atomic<bool> failed_{false};
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
  if (std::error_code error; !how.folder.empty() && !fs::is_directory(how.folder, error)) {
    fs::create_directories(how.folder, error);
    if (error)
      throw UsageError("--out: '" + how.folder + "': " + error.message() + "; expected a folder, or a place for one");
  }
  std::vector<std::optional<StudyResult>> results(runs.size());
  uint64_t steps = 0;
  size_t missing = 0;
  StepCounter count;
  const bool visible = how.progress && isatty(STDERR_FILENO) == 1;
  for (size_t i = 0; i < runs.size(); ++i) {
    results[i] = read_result(how.folder, runs[i]);
    if (results[i]) continue;
    ++missing;
    if (visible) steps += count(runs[i].settings);
  }
  if (missing == 0) return results;
  const size_t cores = std::max(1u, std::thread::hardware_concurrency());
  const size_t jobs = how.jobs > 0 ? static_cast<size_t>(how.jobs) : cores;
  Workers(runs, how, results, steps).run(std::min(jobs, missing));
  return results;
}

}  // namespace softamp::program
