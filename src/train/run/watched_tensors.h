// Tensors of a training run that are printed, or kept for a file, as its steps compute them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "softamp/train/training_run.h"

namespace softamp::train_detail {

class WatchedTensors {
 public:
  /// RunOutput::print and enqueue, of a run that has `steps` steps before it. `say` prints a line. The trainer gets an
  /// observer where there is something to watch. Throws std::invalid_argument for a tensor that no graph of a step
  /// computes, with the nearest, and where what is kept would come to more than 1 GiB.
  WatchedTensors(Trainer& trainer, const RunOutput& output, int64_t steps,
                 std::function<void(const std::string& line)> say);

  /// What the trainer has as its observer because of it; empty where nothing is watched.
  Trainer::Observer observer();
  /// Before each step.
  void begin(int64_t step);
  /// The outfeed's file. Throws npy::Error.
  void write() const;

 private:
  struct Watched {
    std::string name;
    TensorType type;
    bool printed = false, kept = false;
    int64_t uses = 1;               ///< in a step: replicas, times micro-batches where it is the gradient graph's
    std::map<int, int64_t> seen{};  ///< by replica, in this step
  };
  void add(Trainer& trainer, const std::string& name, const char* option, bool Watched::*how);
  void see(Watched& w, int replica, const void* data);

  /// By the tensor that holds the bytes: an Identity or Reshape computes none of its own.
  std::map<std::string, std::vector<Watched>> watched_;
  std::function<void(const std::string&)> say_;
  std::vector<std::pair<std::string, Tensor>> kept_;
  std::string file_;
  int64_t step_ = 0, bytes_of_step_ = 0;
};

}  // namespace softamp::train_detail
