#include "src/train/run/run_length.h"

#include <algorithm>
#include <stdexcept>

namespace softamp::train_detail {

const char* sample_word(const NetworkInfo& network, bool several) {
  if (network.input.kind == NetworkInput::Kind::kImage) return several ? "images" : "image";
  return several ? "samples" : "sample";
}

int64_t steps_per_epoch(const TrainSettings& s, const NetworkInfo& network, int64_t samples) {
  const int64_t step = s.batch_size * s.replicas * s.accumulation;
  if (samples >= step) return samples / s.batch_size / (s.replicas * s.accumulation);
  const std::string word = sample_word(network);
  throw std::invalid_argument("settings: an epoch of " + std::to_string(samples) + " " + word +
                              " has no whole step: 'batch_size' " + std::to_string(s.batch_size) + " x 'replicas' " +
                              std::to_string(s.replicas) + " x 'accumulation' " + std::to_string(s.accumulation) +
                              " is " + std::to_string(step) + " " + word);
}

int64_t steps_of_run(const TrainSettings& s, int64_t steps_per_epoch) {
  const int64_t all = (s.warmup_epochs + s.epochs) * steps_per_epoch;
  const int64_t total = s.steps > 0 ? std::min(all, s.steps) : all;
  // The random address of a graph's run has 32 bits for the step; the last few values have other uses.
  constexpr int64_t kAddresses = 0xFFFFFF00;
  const int64_t most = kAddresses / (std::max(s.replica_invariant, s.accumulation) + 1);
  if (total > most)
    throw std::invalid_argument("settings: " + std::to_string(total) + " steps; expected at most " +
                                std::to_string(most));
  return total;
}

TrainerOptions options_of_run(const TrainSettings& s, int64_t steps) {
  TrainerOptions o = s.trainer_options();
  LearningRateSchedule& schedule = o.optimizer.schedule;
  if (schedule.kind == ScheduleKind::kConstant || schedule.decay_steps != 0) return o;
  if (steps <= s.warmup_steps)
    throw std::invalid_argument("settings: 'warmup_steps' is " + std::to_string(s.warmup_steps) +
                                "; expected fewer than the " + std::to_string(steps) + " steps of the run");
  schedule.decay_steps = steps;
  return o;
}

}  // namespace softamp::train_detail
