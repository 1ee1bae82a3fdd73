// The random words of a running sum, addition by addition.
#pragma once

#include <vector>

#include "softamp/numerics/random.h"
#include "softamp/numerics/tile_random.h"
#include "src/sums/sum_chunk.h"

namespace softamp::detail {

/// The random words of one addition, one per replica of the chunk.
// implements: N72
class AdditionBits {
 public:
  AdditionBits(const RunningSumSetup& s, const SumChunk& chunk)
      : engine_(s.engine),
        operation_(s.operation),
        first_(chunk.first),
        wide_(s.semantics.rounding(s.format).random_bits > 16),
        stride_((chunk.codes.size() + 7) / 8 * 8),
        words_(kAhead * stride_),
        philox_{s.seed, s.engine == RandomEngine::kPhilox7 ? 7 : 10} {
    const RoundingPolicy& policy = s.semantics.rounding(s.format);
    work_.elements = chunk.codes.size();
    work_.stochastic = policy.stochastic();
    work_.switches.sr_bits = policy.random_bits;
    if (engine_ == RandomEngine::kXoroshiro128aox) tile_ = TileRandom::from_seed(s.seed);
  }

  /// Of the additions 0, 1, 2, ... in this order.
  const uint32_t* draw(uint32_t addition) {
    if (engine_ == RandomEngine::kXoroshiro128aox) {
      for (uint64_t group = 0; group < work_.groups(); ++group) {
        const LaneBits bits = tile_.draw(work_, group);
        for (uint32_t i = 0; i < work_.lanes(group); ++i) words_[group * TileWork::kLanes + i] = bits.lane[i];
      }
      return words_.data();
    }
    if (addition % kAhead == 0) wide_ ? draw_ahead<true>(addition) : draw_ahead<false>(addition);
    return &words_[addition % kAhead * stride_];
  }

 private:
  static constexpr uint32_t kAhead = 8;  ///< additions whose words are drawn together, as vectors

  /// Blocks of 8 or 4 lanes (N71). Of the last one only those are taken that have a replica: for a single sum, taking
  /// all would be most of the work.
  template <bool kWide>
  void draw_ahead(uint32_t addition) {
    constexpr size_t kLanes = kWide ? 4 : 8;
    for (size_t place = 0; place < work_.elements; place += kLanes) {
      const size_t used = work_.elements - place < kLanes ? work_.elements - place : kLanes;
      uint32_t word[4][kAhead];
      for (uint32_t n = 0; n < kAhead; ++n) {
        const RandomBlock counter = philox_.counter(addition + n, operation_, (first_ + place) / kLanes);
        for (int w = 0; w < 4; ++w) word[w][n] = counter.word[w];
      }
      philox4x32(word, philox_.key(), philox_.rounds);
      for (uint32_t n = 0; n < kAhead; ++n) {
        const RandomBlock block{{word[0][n], word[1][n], word[2][n], word[3][n]}};
        uint32_t* const out = &words_[n * stride_ + place];
        for (size_t i = 0; i < used; ++i) out[i] = kWide ? block.word[i] : block.lane16(static_cast<uint32_t>(i));
      }
    }
  }

  RandomEngine engine_;
  uint32_t operation_;
  uint64_t first_;
  bool wide_;      ///< 32-bit lanes
  size_t stride_;  ///< from one addition's words to the next one's
  std::vector<uint32_t> words_;
  RandomBits philox_;
  TileWork work_{};
  TileRandom tile_{};
};

}  // namespace softamp::detail
