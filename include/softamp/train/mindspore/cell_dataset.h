// A dataset as MindSpore's examples make it (MIXED_PRECISION M17): a generator of samples, batched and repeated.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "softamp/data/sampler.h"
#include "softamp/train/trainer.h"

namespace softamp::cells {

/// Sample i of the source, without a batch axis: data, and its label.
using SampleSource = std::function<Batch(int64_t i)>;

/// A value: batch() and repeat() act in the order in which they are called, as a pipeline does.
class GeneratorDataset {
 public:
  /// size: samples of the source, >= 1. Throws std::invalid_argument.
  GeneratorDataset(SampleSource source, int64_t size);

  /// An order of its own for every pass over the source, keyed by (seed, pass). Before batch().
  GeneratorDataset& shuffle(uint64_t seed);
  /// Joins batch_size samples to one; the rest at the end becomes a shorter batch, or is dropped.
  GeneratorDataset& batch(int64_t batch_size, bool drop_remainder = false);
  /// Repeats everything so far `count` times. -1, which would never end, and an epoch of more than 2^62 samples are
  /// refused.
  GeneratorDataset& repeat(int64_t count = 1);

  int64_t size() const;  ///< batches (samples where batch() was not called) of one epoch
  /// Batch (or sample) i. Throws std::out_of_range; std::invalid_argument where samples of a batch differ in type.
  Batch at(int64_t i) const;

 private:
  Batch joined(int64_t first, int64_t count) const;
  int64_t samples() const { return count_ * repeats_before_; }

  SampleSource source_;
  int64_t count_, repeats_before_ = 1, batch_ = 0, repeats_after_ = 1;
  bool drop_ = false;
  Sampler order_;
};

}  // namespace softamp::cells
