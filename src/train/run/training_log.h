// The log of a training run: JSON lines. It holds no times, so that equal runs have equal logs, and an interrupted and
// resumed run has the log of one that was never stopped.
//
//   {"softamp_log":1,"settings":{...},"warnings":[...]}          line 1; "lines_before":n if a resumed run began
//                                                                this log: n lines are missing before it
//   {"step":0,"loss":2.3,...}                                    StepResult::json
//   {"epoch":0,"warmup":false,"step":128,"average_loss":1.2}     after each epoch; step: steps done
//   {"evaluation":{"step":128,"images":1024,"correct":800,"loss":0.7,"accuracy":0.78125}}
#pragma once

#include <fstream>
#include <string>
#include <vector>

#include "softamp/train/training_run.h"

namespace softamp::train_detail {

class TrainingLog {
 public:
  /// A new log, or none if `file` is empty. Throws std::runtime_error if it cannot be written.
  TrainingLog(std::string file, const TrainSettings& settings, const std::vector<std::string>& warnings);
  /// The log of a resumed run: the first `keep` lines after line 1 stay, the rest is removed, and line 1 holds the
  /// current settings. A new file begins with line 1, which says how many lines are missing. Throws std::runtime_error:
  /// no log, too short, or of a run with other settings.
  TrainingLog(std::string file, const TrainSettings& settings, const std::vector<std::string>& warnings, int64_t keep);

  void step(const StepResult& result);
  void epoch(int64_t epoch, bool warmup, int64_t step, double average_loss);
  void evaluation(const Evaluation& evaluation);

  /// Lines after line 1, whether or not they are written to a file.
  int64_t lines() const { return lines_; }
  /// Losses of the steps whose lines were kept.
  const std::vector<double>& kept_losses() const { return kept_losses_; }

 private:
  void open(bool append);
  void write(const std::string& line);
  std::string first_line(const TrainSettings& settings, const std::vector<std::string>& warnings) const;

  std::string file_;
  std::ofstream out_;
  int64_t lines_ = 0, lines_before_ = 0;
  std::vector<double> kept_losses_;
};

}  // namespace softamp::train_detail
