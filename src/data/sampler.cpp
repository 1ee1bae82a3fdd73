// The order of the images, by Fisher and Yates' shuffle (Durstenfeld's form, CACM 7(7), 1964, algorithm 235).
#include "softamp/data/sampler.h"

#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

#include "softamp/numerics/random.h"

namespace softamp {
namespace {

/// A number of 0 .. n - 1, each as likely as any other: of the 2^32 numbers that may be drawn, the 2^32 mod n that
/// would favour some results are drawn again. (D. Lemire, "Fast random integer generation in an interval", 2019.)
// implements: N285
uint32_t below(uint32_t n, PhiloxGenerator& random) {
  uint64_t product = uint64_t{random()} * n;
  if (static_cast<uint32_t>(product) < n)
    for (const uint32_t excess = (0u - n) % n; static_cast<uint32_t>(product) < excess;)
      product = uint64_t{random()} * n;
  return static_cast<uint32_t>(product >> 32);
}

}  // namespace

Sampler::Sampler(int64_t count, int64_t batch_size, bool shuffle, uint64_t seed)
    : count_(count), batch_size_(batch_size), shuffle_(shuffle), seed_(seed) {
  if (count < 1) throw std::invalid_argument(std::to_string(count) + " samples; expected at least 1");
  if (batch_size < 1 || batch_size > count)
    throw std::invalid_argument("batch size " + std::to_string(batch_size) + "; expected 1 to " +
                                std::to_string(count) + ", the number of samples");
  if (shuffle && count > std::numeric_limits<uint32_t>::max())
    throw std::invalid_argument(std::to_string(count) + " samples to be shuffled; expected at most 2^32 - 1");
}

// implements: N285
const std::vector<int64_t>& Sampler::order(int64_t epoch) const {
  const size_t slot = static_cast<size_t>(epoch & 1);
  std::vector<int64_t>& order = cached_[slot];
  if (cached_epoch_[slot] == epoch) return order;
  cached_epoch_[slot] = -1;
  order.resize(static_cast<size_t>(count_));
  for (int64_t i = 0; i < count_; ++i) order[static_cast<size_t>(i)] = i;
  // The epoch's low 24 bits are the operation of the address, the others move its index.
  PhiloxGenerator random(RandomBits{.seed = seed_}, kStep, static_cast<uint32_t>(epoch & 0xFFFFFF));
  random.discard(static_cast<uint64_t>(epoch) >> 24 << 34);
  for (size_t i = order.size() - 1; i > 0; --i) std::swap(order[i], order[below(static_cast<uint32_t>(i + 1), random)]);
  cached_epoch_[slot] = epoch;
  return order;
}

int64_t Sampler::image(int64_t i) const {
  if (i < 0) throw std::invalid_argument("sample " + std::to_string(i) + "; expected at least 0");
  if (!shuffle_) return i % count_;
  return order(i / count_)[static_cast<size_t>(i % count_)];
}

std::vector<int64_t> Sampler::batch(int64_t b) const {
  if (b < 0 || b > std::numeric_limits<int64_t>::max() / batch_size_ - 1)
    throw std::invalid_argument("batch " + std::to_string(b) + "; expected 0 to " +
                                std::to_string(std::numeric_limits<int64_t>::max() / batch_size_ - 1));
  std::vector<int64_t> images(static_cast<size_t>(batch_size_));
  for (int64_t i = 0; i < batch_size_; ++i) images[static_cast<size_t>(i)] = image(b * batch_size_ + i);
  return images;
}

}  // namespace softamp
