// Gradients of a step summed over the replicas of all ranks: slices all to all, each summed by its rank in the order of
// one process (N277, N283), sums to all. That is the traffic of a ring, with the bits of one process (N284).
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "softamp/train/exchange.h"
#include "softamp/train/trainer.h"
#include "src/train/trainer_graphs.h"

namespace softamp::train_detail {

class GradientReduction {
 public:
  /// Gradients by part (replica, or slice) of this rank, then by variable, as TrainingStep has them.
  using Parts = std::vector<std::vector<Tensor>>;

  /// options.exchange must be there; it and `gradient` outlive this.
  GradientReduction(const GradientStepGraph& gradient, const TrainerOptions& options);
  ~GradientReduction();

  /// A step begins.
  void begin();
  /// The gradient of a variable is there in a part of this rank, and stays until `sums`. Any order; each once. Buckets
  /// go out in their fixed order as they are full, while the caller computes the others.
  void give(size_t part, size_t variable, const Tensor& gradient);
  /// The rest of the step's gradients will not come: sums are of zeros in their place, so that the other ranks, which
  /// wait for this one, find out in their turn.
  void give_up();

  struct Sums {
    std::vector<Tensor> values;  ///< by variable: reduced, float32 or float64
    uint8_t flags = 0;           ///< raised on this rank's slices
    bool excepted = false;       ///< an enabled exception there
  };
  /// Waits for all buckets. Throws what went wrong in between: ExchangeError, std::bad_alloc.
  Sums sums();

  /// Every part of every rank, rank by rank: what one process has.
  Parts all_parts(const Parts& mine);

  /// What this rank has sent in all steps: its slices to others, and its sums to each of them.
  int64_t bytes_sent() const;
  size_t buckets() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace softamp::train_detail
