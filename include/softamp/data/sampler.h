// The order in which a training run sees its images: a stream of global sample indices, cut into batches.
#pragma once

#include <cstdint>
#include <vector>

namespace softamp {

/// Sample i of the stream is an image of epoch i / count; `repeat` comes before `batch`, so no image is lost: an epoch
/// is floor(count / batch_size) batches, and the stream runs on. With shuffle, epoch e is a permutation of its own,
/// keyed by (seed, e): Fisher and Yates with Philox4x32-10, unbiased. Its random numbers have a step in their address
/// that no run of a graph uses: RandomBits{seed}, step kStep, operation = e mod 2^24, from index floor(e / 2^24) 2^34
/// on.
///
/// Keeps the orders of two epochs, so several threads must not use one sampler at the same time.
class Sampler {
 public:
  static constexpr uint32_t kStep = 0xFFFFFFFE;  ///< 2^32 - 2

  /// Throws std::invalid_argument unless count >= 1 (and < 2^32 where shuffled) and 1 <= batch_size <= count.
  Sampler(int64_t count, int64_t batch_size, bool shuffle = false, uint64_t seed = 0);

  int64_t batches_per_epoch() const { return count_ / batch_size_; }
  /// The images of batch b (from 0) of the stream. Throws std::invalid_argument where b or i is negative.
  std::vector<int64_t> batch(int64_t b) const;
  /// The image of sample i of the stream.
  int64_t image(int64_t i) const;

 private:
  const std::vector<int64_t>& order(int64_t epoch) const;
  int64_t count_, batch_size_;
  bool shuffle_;
  uint64_t seed_;
  mutable int64_t cached_epoch_[2] = {-1, -1};
  mutable std::vector<int64_t> cached_[2];
};

}  // namespace softamp
