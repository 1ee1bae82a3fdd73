// Random numbers of a tile of a product, block after block of its chain (AVX2, AVX-512; at most 16 random bits).
//
// In a product the generator's counter is (output / 8, p, operation, step)
// (N70, N72). What depends only on the output, two rounds and half of the third, is computed once per tile; what
// depends only on p is scalar.
#pragma once

#include <span>

#include "emu/bulk/philox_body.h"
#include "emu/products/product_kernels.h"
#include "emu/simd.h"

namespace softamp::emu {
namespace {

/// The products of a tile one by one, with the numbers of their blocks.
class Steps {
 public:
  Steps(const Segment* segments, size_t count) : segment_(segments), end_(segments + count) {}
  bool done() const { return segment_ == end_; }
  uint32_t number() const { return segment_->number; }
  void next() {
    if (++product_ == segment_->length) ++segment_, product_ = 0;
  }

 private:
  const Segment* segment_;
  const Segment* end_;
  uint32_t product_ = 0;
};

#if defined(__AVX512F__)
#define SOFTAMP_DRAW SOFTAMP_LANES  // beside accumulators in registers
constexpr bool kDrawsAhead = false;
#else
#define SOFTAMP_DRAW [[gnu::noinline]]
constexpr bool kDrawsAhead = true;
#endif

template <size_t kRows, size_t kColumns>
class TileNumbers {
  static_assert(kColumns % 8 == 0);
  static constexpr size_t kLanes = sizeof(U64) / 8;
  static constexpr size_t kMostBlocks = kColumns / 8 + 1;  ///< of a row: one more where it begins inside a draw block
  static constexpr size_t kAtOnce = kLanes == 8 ? 4 : 3;   ///< vectors in flight: their words are in registers
  static constexpr size_t kVectors = (kRows * kMostBlocks + kLanes * kAtOnce - 1) / (kLanes * kAtOnce) * kAtOnce;

 public:
  TileNumbers(int random_bits, const kernel::Environment& e, uint32_t site, const ProductTile& tile)
      : operation_(e.random.replica << 24 | (e.operation + site)), rounds_(e.random.rounds) {
    PhiloxKey key = e.random.key();
    for (int i = 0; i < rounds_; ++i) {
      key0_[i] = Key{} + key.word[0], key1_[i] = Key{} + key.word[1];
      if (i == 0) first_key_ = key.word[0];
      key.word[0] += 0x9E3779B9u, key.word[1] += 0xBB67AE85u;
    }
    mask_ = ((uint64_t{1} << random_bits) - 1) * 0x1000100010001u;
    uint64_t low_bits = 0;
    for (const uint64_t output : std::span(tile.output, tile.rows)) low_bits |= output;
    alignas(64) uint64_t counters[kVectors * kLanes];
    if (low_bits % 8 == 0 && tile.columns == kColumns)
      use(whole_blocks(tile, counters), counters);
    else
      use(cut_blocks(tile, counters), counters);
    // Outputs that are not there read zeros, or others' numbers.
    if (tile.rows < kRows || tile.columns < kColumns) __builtin_memset(numbers_, 0, sizeof numbers_);
    for (size_t v = 0; v < used_; ++v) hoist(v, load<U64>(counters + kLanes * v), e.step);
  }

  /// Draws the numbers of block p, which `of_vector` gives after `turn`. Drawing ahead, where kDrawsAhead, fills the
  /// gaps that the chains of multiplications leave.
  SOFTAMP_DRAW void draw(uint32_t p) {
    // Words of round 1 and 2 that depend on p alone.
    const uint64_t known = kMultiplier1 * operation_;
    const uint32_t w0 = static_cast<uint32_t>(known >> 32) ^ p ^ first_key_;
    const uint64_t product = kMultiplier0 * w0;
    const U64 high = splat<U64>(product >> 32), low = splat<U64>(static_cast<uint32_t>(product));
    if (used_ == 2)
      group<2>(0, high, low);
    else if (kAtOnce == 3 || used_ % 3 == 0)
      for (size_t v = 0; v < used_; v += 3) group<3>(v, high, low);
    else
      for (size_t v = 0; v < used_; v += kAtOnce) group<kAtOnce>(v, high, low);
  }
  SOFTAMP_LANES void turn() { drawn_ = !drawn_; }
  /// The numbers of vector f's outputs (a row of the tile is kColumns / lanes vectors), 16 bits each.
  SOFTAMP_LANES const char* of_vector(size_t f) const {
    constexpr size_t kOutputs = sizeof(U32) / 4, kPerRow = kColumns / kOutputs;
    return reinterpret_cast<const char*>(numbers_[kDrawsAhead && !drawn_]) + start_[f / kPerRow] +
           f % kPerRow * kOutputs * 2;
  }

 private:
  static constexpr uint64_t kMultiplier0 = 0xD2511F53u, kMultiplier1 = 0xCD9E8D57u;

  /// The lane of block n, such that the interleaving at the end of `group` writes blocks in ascending order.
  static size_t place(size_t n) {
    constexpr size_t kHalf = kLanes / 2;
    return n / kLanes * kLanes + n % kHalf * 2 + n % kLanes / kHalf;
  }
#if defined(__AVX512F__)
  static SOFTAMP_LANES U64 low_of_pairs(U64 a, U64 b) { return (U64)_mm512_unpacklo_epi64((__m512i)a, (__m512i)b); }
  static SOFTAMP_LANES U64 high_of_pairs(U64 a, U64 b) { return (U64)_mm512_unpackhi_epi64((__m512i)a, (__m512i)b); }
#else
  static SOFTAMP_LANES U64 low_of_pairs(U64 a, U64 b) { return (U64)_mm256_unpacklo_epi64((__m256i)a, (__m256i)b); }
  static SOFTAMP_LANES U64 high_of_pairs(U64 a, U64 b) { return (U64)_mm256_unpackhi_epi64((__m256i)a, (__m256i)b); }
#endif

  /// Rows that begin with a draw block and are made of whole ones.
  SOFTAMP_LANES size_t whole_blocks(const ProductTile& tile, uint64_t* counters) {
    constexpr size_t kBlocks = kColumns / 8;
#pragma GCC unroll 24
    for (size_t i = 0; i < kRows; ++i) {
      const uint64_t first = i < tile.rows ? tile.output[i] >> 3 : 0;
#pragma GCC unroll 4
      for (size_t b = 0; b < kBlocks; ++b) counters[place(i * kBlocks + b)] = static_cast<uint32_t>(first + b);
      start_[i] = i < tile.rows ? static_cast<uint32_t>(i * kBlocks * 16) : 0;
    }
    return tile.rows * kBlocks;
  }
  size_t cut_blocks(const ProductTile& tile, uint64_t* counters) {
    uint64_t most = 0;
    for (size_t i = 0; i < tile.rows; ++i) most = (tile.output[i] & 7) > most ? tile.output[i] & 7 : most;
    const size_t blocks = (most + tile.columns + 7) / 8;  // of a row
    for (size_t i = 0; i < tile.rows; ++i) {
      for (size_t b = 0; b < blocks; ++b)
        counters[place(i * blocks + b)] = static_cast<uint32_t>((tile.output[i] >> 3) + b);
      start_[i] = static_cast<uint32_t>(i * blocks * 16 + (tile.output[i] & 7) * 2);
    }
    for (size_t i = tile.rows; i < kRows; ++i) start_[i] = 0;
    return tile.rows * blocks;
  }
  /// So many blocks, in groups of vectors that `draw` knows.
  SOFTAMP_LANES void use(size_t blocks, uint64_t* counters) {
    used_ = (blocks + kLanes - 1) / kLanes;
    if (used_ != 2 && used_ % 3 != 0) used_ = (used_ + kAtOnce - 1) / kAtOnce * kAtOnce;
    for (size_t n = blocks; n < used_ * kLanes; ++n) counters[place(n)] = 0;
  }

  void hoist(size_t v, U64 counter, uint32_t step) {
    const uint64_t known = kMultiplier1 * operation_;
    const U64 m0 = splat<U64>(kMultiplier0), m1 = splat<U64>(kMultiplier1), low_half = splat<U64>(0xFFFFFFFFu);
    const U64 first = multiply_low_halves(counter, m0);
    const U64 w2 = (first >> 32) ^ (splat<U64>(step) ^ key1_[0]);
    const U64 second = multiply_low_halves(w2, m1);
    const U64 w0 = (second >> 32) ^ (splat<U64>(static_cast<uint32_t>(known)) ^ key0_[1]);
    const U64 third = multiply_low_halves(w0, m0);
    into_w2_[v] = (first & low_half) ^ key1_[1];
    into_w0_[v] = (second & low_half) ^ key0_[2];
    into_next_w2_[v] = (third >> 32) ^ key1_[2];
    next_w3_[v] = third;
  }

  template <size_t kCount>
  SOFTAMP_LANES void group(size_t first, U64 high, U64 low) {
    const U64 m0 = splat<U64>(kMultiplier0), m1 = splat<U64>(kMultiplier1);
    U64 w0[kCount], w1[kCount], w2[kCount], w3[kCount];
#pragma GCC unroll 4
    for (size_t i = 0; i < kCount; ++i) {
      const size_t v = first + i;
      const U64 product = multiply_low_halves(into_w2_[v] ^ high, m1);
      w0[i] = high_halves(product) ^ into_w0_[v];
      w1[i] = product;
      w2[i] = into_next_w2_[v] ^ low;
      w3[i] = next_w3_[v];
    }
    const auto round = [&](int n) {
      const Key &key0 = key0_[n], &key1 = key1_[n];
#pragma GCC unroll 4
      for (size_t i = 0; i < kCount; ++i) philox_round(w0[i], w1[i], w2[i], w3[i], m0, m1, key0, key1);
    };
#pragma GCC unroll 8
    for (int n = 3; n < 6; ++n) round(n);
    if (rounds_ > 7)
#pragma GCC unroll 8
      for (int n = 6; n < 9; ++n) round(n);
    const U64 low_half = splat<U64>(0xFFFFFFFFu), kept = splat<U64>(mask_);
    const Key &key0 = key0_[rounds_ - 1], &key1 = key1_[rounds_ - 1];
#pragma GCC unroll 4
    for (size_t i = 0; i < kCount; ++i) {
      const U64 product0 = multiply_low_halves(w0[i], m0);
      const U64 product1 = multiply_low_halves(w2[i], m1);
      const U64 a = (exchanged(product1) ^ ((w1[i] & low_half) ^ key0)) & kept;
      const U64 b = (exchanged(product0) ^ ((w3[i] & low_half) ^ key1)) & kept;
      uint32_t* const out = numbers_[kDrawsAhead && drawn_] + (first + i) * kLanes * 4;
      store(out, low_of_pairs(a, b));
      store(out + kLanes * 2, high_of_pairs(a, b));
    }
  }

  uint32_t operation_, first_key_ = 0;
  int rounds_;
  size_t used_;
  uint64_t mask_;
#if defined(__AVX512F__)
  using Key = uint64_t;  // broadcast as it is used
#else
  using Key = U64;
#endif
  Key key0_[10], key1_[10];  ///< of the rounds that there are
  uint32_t start_[kRows];
  U64 into_w2_[kVectors], into_w0_[kVectors], into_next_w2_[kVectors], next_w3_[kVectors];
  bool drawn_ = false;  ///< which of the two is being drawn
  alignas(64) uint32_t numbers_[kDrawsAhead ? 2 : 1][(kVectors * kLanes * 4 + kColumns / 2 + 15) / 16 * 16];
};

}  // namespace
}  // namespace softamp::emu
