// What a training step needs where the ranks of an exchange share its replicas (N284).
#pragma once

#include <functional>

#include "src/train/replicas/gradient_reduction.h"
#include "src/train/training_step.h"

namespace softamp {

struct TrainingStep::Shared {
  Shared(const GradientStepGraph& gradient, const UpdateStepGraph& full, const TrainerOptions& options);

  /// For the gradient graph's executor of a replica of this process: hands gradients to the reduction as they come.
  std::function<void(size_t fetch, const Tensor& value)> fetched(int replica);

  /// The division by the number of replicas draws random bits, whose addresses are those of whole tensors: every rank
  /// then gets all gradients and reduces them itself, as one process does.
  bool gathers;
  Graph update;  ///< of all gradients, if it gathers; else of reduced ones
  train_detail::GradientReduction reduction;
  uint8_t sum_flags = 0;                     ///< of this step, on this rank
  bool excepted = false;                     ///< an enabled exception in the sums of this step, on any rank
  std::function<int(int replica)> part_now;  ///< of the run under way, by replica; -1: its gradients are not complete
};

}  // namespace softamp
