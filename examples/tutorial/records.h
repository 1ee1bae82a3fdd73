// What a training loop of one's own writes: a log, checkpoints, a loss curve, a progress line. run_training does all
// this by itself; the estimator's program, whose loop is the estimator's, does it here with the library's public parts.
#pragma once

#include "arguments.h"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace tutorial {

class Records {
 public:
  /// total: steps of the whole run. A checkpoint knows the images by their contents.
  Records(const Arguments& arguments, int64_t total, const softamp::ImageSets& data);
  ~Records();
  Records(const Records&) = delete;
  Records& operator=(const Records&) = delete;

  /// Locks the log for the whole run. Brings the trainer to where the checkpoint of --resume stands, if there is one,
  /// and begins the log: line 1 holds the settings, line s + 2 step s; a resumed run goes on after its last step.
  /// Throws std::invalid_argument where the checkpoint was written under other settings or with other images, and
  /// std::runtime_error where the log cannot be written, is another run's, or lacks steps before the checkpoint; other
  /// test images are said.
  void start(softamp::Trainer& trainer);
  /// After each step; false: stop.
  bool step(const softamp::StepResult& result, const softamp::Trainer& trainer);
  /// One JSON object into the log.
  void line(const std::string& object);
  /// After an error in or after a step: keeps the state after the last whole step, and the line of it that the log
  /// could not take. A second error is told here.
  void keep(const softamp::Trainer& trainer) noexcept;
  /// At the end: the last checkpoint, the loss curve.
  void finish(const softamp::Trainer& trainer);

 private:
  void resume(softamp::Trainer& trainer);
  void begin_log(int64_t step);
  void save(const softamp::Trainer& trainer) const;

  const Arguments& arguments_;
  int64_t total_;
  std::string data_, test_data_;  ///< contents_hash of the images
  std::optional<softamp::RunLog> log_;
  std::string unlogged_;  ///< the line that the log could not take; a checkpoint keeps it
  std::vector<double> steps_, losses_;
  bool terminal_;
  std::chrono::steady_clock::time_point drawn_;
};

}  // namespace tutorial
