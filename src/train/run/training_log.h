// The log of a training run: JSON lines. It holds no times, so that equal runs have equal logs, and an interrupted and
// resumed run has the log of one that was never stopped.
//
//   {"softamp_log":1,"settings":{...},"used":[...],"warnings":[...]}   line 1 (used: used_settings.h);
//                                                                "lines_before":n if a resumed run began
//                                                                this log: n lines are missing before it
//   {"step":0,"loss":2.3,...}                                    StepResult::json
//   {"epoch":0,"warmup":false,"step":128,"average_loss":1.2}     after each epoch; step: steps done
//   {"evaluation":{"step":128,"images":1024,"correct":800,"loss":0.7,"accuracy":0.78125}}
#pragma once

#include <cstdint>
#include <deque>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "softamp/train/training_run.h"
#include "src/train/run/log_file.h"
#include "src/train/run/loss_curve.h"

namespace softamp::train_detail {

class TrainingLog {
 public:
  /// No file where `file` is empty. Else it is locked and tried; what is in it stays until begin or resume. Throws
  /// std::runtime_error: it cannot be written, or another run writes it.
  explicit TrainingLog(std::string file);

  /// A new log. This and all that write throw std::runtime_error where the file cannot be written.
  void begin(const TrainSettings& settings, const std::vector<std::string>& warnings);
  /// The log of a resumed run: the first `keep` lines after line 1 stay, the rest is removed, and line 1 holds the
  /// current settings; `unlogged` follows. A new file begins with line 1, which says how many lines are missing. Throws
  /// std::runtime_error: no log, too short, or of a run with other settings.
  void resume(const TrainSettings& settings, const std::vector<std::string>& warnings, int64_t keep,
              const std::vector<std::string>& unlogged);

  /// Lines that wait for write_out.
  void step(const StepResult& result);
  void epoch(int64_t epoch, bool warmup, int64_t step, double average_loss);
  void evaluation(const Evaluation& evaluation);
  /// Writes what waits, each line whole or not at all. What could not be written waits on.
  void write_out();
  /// What was written is on the disk then: a checkpoint may count on it.
  void synchronise();

  /// Lines after line 1 that are written, or would be if there were a file.
  int64_t lines() const { return lines_; }
  const std::deque<std::string>& waiting() const { return waiting_; }
  /// Of the steps whose lines were kept.
  const StepCurves& kept_steps() const { return kept_steps_; }

 private:
  void go_on(const TrainSettings& settings, const std::vector<std::string>& warnings, int64_t keep);
  void start(const std::string& first_line, std::istream* kept, int64_t keep);
  void add(std::string line);
  std::string first_line(const TrainSettings& settings, const std::vector<std::string>& warnings) const;

  std::string file_;
  std::optional<LogFile> out_;  ///< none: no file
  std::deque<std::string> waiting_;
  int64_t lines_ = 0, lines_before_ = 0;
  StepCurves kept_steps_;
};

}  // namespace softamp::train_detail
