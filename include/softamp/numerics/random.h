// Addressed random bits (N383): a pure function of (seed, step, operation, index), computed by Philox4x32.
//
// There is no state, so any thread, in any order, on any backend, reads the same bits (N70 to N73, N78). Philox:
// Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
#pragma once

#include <cassert>

#include "softamp/numerics/platform.h"

namespace softamp {

/// Four 32-bit words: a counter, or the random words that belong to it.
struct RandomBlock {
  uint32_t word[4];

  constexpr bool operator==(const RandomBlock&) const = default;

  /// Lane 0..7 of 16 bits: word lane / 2, the low half where lane is even.
  // implements: N71
  SOFTAMP_INLINE uint32_t lane16(uint32_t lane) const { return word[lane >> 1] >> ((lane & 1) * 16) & 0xFFFFu; }
};

// implements: N70
struct PhiloxKey {
  uint32_t word[2];
};

namespace detail {
inline constexpr uint64_t kPhiloxMultiplier0 = 0xD2511F53u, kPhiloxMultiplier1 = 0xCD9E8D57u;
inline constexpr uint32_t kPhiloxWeyl0 = 0x9E3779B9u, kPhiloxWeyl1 = 0xBB67AE85u;
}  // namespace detail

/// Philox4x32 with `rounds` rounds: 10 is the authors' recommendation, 7 their least that passes BigCrush.
// implements: N70
SOFTAMP_INLINE RandomBlock philox4x32(RandomBlock counter, PhiloxKey key, int rounds = 10) {
  for (int round = 0; round < rounds; ++round) {
    const uint64_t product0 = detail::kPhiloxMultiplier0 * counter.word[0];
    const uint64_t product1 = detail::kPhiloxMultiplier1 * counter.word[2];
    counter = {{static_cast<uint32_t>(product1 >> 32) ^ counter.word[1] ^ key.word[0], static_cast<uint32_t>(product1),
                static_cast<uint32_t>(product0 >> 32) ^ counter.word[3] ^ key.word[1],
                static_cast<uint32_t>(product0)}};
    key.word[0] += detail::kPhiloxWeyl0;
    key.word[1] += detail::kPhiloxWeyl1;
  }
  return counter;
}

/// The same of kCount counters with one key: word[w][i] is word w of counter i. In this form compilers make vectors of
/// it.
template <int kCount>
SOFTAMP_INLINE void philox4x32(uint32_t (&word)[4][kCount], PhiloxKey key, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < kCount; ++i) {
      const uint64_t product0 = detail::kPhiloxMultiplier0 * word[0][i];
      const uint64_t product1 = detail::kPhiloxMultiplier1 * word[2][i];
      word[0][i] = static_cast<uint32_t>(product1 >> 32) ^ word[1][i] ^ key.word[0];
      word[1][i] = static_cast<uint32_t>(product1);
      word[2][i] = static_cast<uint32_t>(product0 >> 32) ^ word[3][i] ^ key.word[1];
      word[3][i] = static_cast<uint32_t>(product0);
    }
    key.word[0] += detail::kPhiloxWeyl0;
    key.word[1] += detail::kPhiloxWeyl1;
  }
}

/// The random bits of a run. An address is (step, operation, index); a run must not use one twice (N78).
///
/// step       counts graph executions, every micro-batch one of them
/// operation  (0 .. 2^24 - 1)  one rounding site of the graph; bulk calls and running sums use 0
/// index      the result's row-major place in the output; in a product see `product_index`; in a running sum the
///            replica, with step = the addition
///
/// A block of 128 bits serves 8 consecutive indices with 16-bit lanes, or 4 with 32-bit lanes. An address therefore
/// keeps to one lane width: r <= 16 and r > 16 read overlapping bits of different blocks.
// implements: N73, N79, N383
struct RandomBits {
  static constexpr uint32_t kOperations = 1u << 24;
  static constexpr uint32_t kReplicas = 256;

  uint64_t seed = 0;
  int rounds = 10;       ///< (10, 7) [=10] Philox rounds
  uint32_t replica = 0;  ///< (0..255) [=0] of a replica-local operation; 0 where all replicas must agree (N79)

  constexpr bool operator==(const RandomBits&) const = default;

  /// All four words of a draw block; block_index is index / 8 for 16-bit lanes, index / 4 for 32-bit lanes (N70).
  // implements: N71
  SOFTAMP_INLINE RandomBlock block(uint32_t step, uint32_t operation, uint64_t block_index) const {
    return philox4x32(counter(step, operation, block_index), key(), rounds);
  }

  /// The r (1..32) random bits of one rounding, right-aligned, the rest zero (N71).
  // implements: N71
  SOFTAMP_INLINE uint32_t bits(uint32_t step, uint32_t operation, uint64_t index, int r) const {
    assert(r >= 1 && r <= 32);
    if (r > 16) return block(step, operation, index >> 2).word[index & 3] & (~uint32_t{0} >> (32 - r));
    return block(step, operation, index >> 3).lane16(static_cast<uint32_t>(index & 7)) & ((1u << r) - 1);
  }

  SOFTAMP_INLINE PhiloxKey key() const { return {{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)}}; }
  /// The counter of a block: index low, index high, replica and operation, step.
  // implements: N70, N79
  SOFTAMP_INLINE RandomBlock counter(uint32_t step, uint32_t operation, uint64_t block_index) const {
    assert(operation < kOperations);
    assert(replica < kReplicas);
    return {{static_cast<uint32_t>(block_index), static_cast<uint32_t>(block_index >> 32), replica << 24 | operation,
             step}};
  }
};

inline constexpr int kProductOutputBits = 35;  ///< the lower ones of a product_index

/// Index of a rounding inside a product or convolution: accumulation block (< 2^29) of an output (< 2^35). An output
/// keeps its lane through the whole chain (N71).
// implements: N72, N103
SOFTAMP_INLINE uint64_t product_index(uint64_t accumulation_block, uint64_t output) {
  assert(accumulation_block < uint64_t{1} << 29);
  assert(output < uint64_t{1} << kProductOutputBits);
  return accumulation_block << kProductOutputBits | output;
}
/// Its two parts.
SOFTAMP_INLINE uint64_t product_block(uint64_t index) { return index >> kProductOutputBits; }
SOFTAMP_INLINE uint64_t product_output(uint64_t index) { return index & ((uint64_t{1} << kProductOutputBits) - 1); }

/// The 32-bit lanes of one (step, operation), in order of index, as a std::uniform_random_bit_generator: the n-th
/// number is `bits(step, operation, n, 32)`, n modulo 2^64. For the distributions of Boost.Random and of the standard
/// library; a distribution may take any count of numbers, so what is to be drawn in any order needs a generator for
/// each place (another step, or another operation).
class PhiloxGenerator {
 public:
  using result_type = uint32_t;

  explicit SOFTAMP_INLINE PhiloxGenerator(RandomBits source = {}, uint32_t step = 0, uint32_t operation = 0)
      : source_(source), step_(step), operation_(operation), block_(source.block(step, operation, 0)) {}

  static SOFTAMP_INLINE result_type min() { return 0; }
  static SOFTAMP_INLINE result_type max() { return ~result_type{0}; }

  SOFTAMP_INLINE result_type operator()() {
    const result_type number = block_.word[position_ & 3];
    ++position_;
    if ((position_ & 3) == 0) load_block();
    return number;
  }
  /// Leaves out the next n numbers, in constant time.
  SOFTAMP_INLINE void discard(uint64_t n) {
    position_ += n;
    load_block();
  }
  /// Index of the next number.
  SOFTAMP_INLINE uint64_t position() const { return position_; }

  /// Equal generators produce equal numbers from here on.
  constexpr bool operator==(const PhiloxGenerator&) const = default;

 private:
  SOFTAMP_INLINE void load_block() { block_ = source_.block(step_, operation_, position_ >> 2); }

  RandomBits source_;
  uint32_t step_;
  uint32_t operation_;
  uint64_t position_ = 0;
  RandomBlock block_;  ///< the block that holds the next number
};

}  // namespace softamp
