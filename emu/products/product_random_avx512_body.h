// Random numbers of a tile of a product, block after block of its chain
// (AVX-512; at most 16 random bits).
//
// In a product the generator's counter is (output / 8, p, operation, step)
// (N70, N72). What depends only on the output, two rounds and half of the third, is computed once per tile; what
// depends only on p is scalar.
#pragma once

#include "emu/bulk/philox_body.h"
#include "emu/products/product_kernels.h"
#include "emu/simd.h"

namespace softamp::emu {
namespace {

template <size_t kRows, size_t kColumns>
class TileNumbers {
  static_assert(kColumns % 8 == 0);
  static constexpr size_t kMostBlocks = kColumns / 8 + 1;  ///< of a row: one more where it begins inside a draw block
  static constexpr size_t kVectors = (kRows * kMostBlocks + 31) / 32 * 4;

 public:
  TileNumbers(const ProductPlan& plan, const kernel::Environment& e, const ProductTile& tile)
      : operation_(e.random.replica << 24 | e.operation), rounds_(e.random.rounds) {
    PhiloxKey key = e.random.key();
    for (int i = 0; i < rounds_; ++i) {
      key0_[i] = key.word[0], key1_[i] = key.word[1];
      key.word[0] += 0x9E3779B9u, key.word[1] += 0xBB67AE85u;
    }
    mask_ = ((uint64_t{1} << plan.half.random_bits) - 1) * 0x1000100010001u;
    bool aligned = true;
    for (size_t i = 0; i < tile.rows; ++i) aligned = aligned && (tile.output[i] & 7) == 0;
    blocks_ = aligned ? kMostBlocks - 1 : kMostBlocks;
    used_ = (kRows * blocks_ + 7) / 8;
    alignas(64) uint64_t counters[kVectors * 8] = {};
    for (size_t i = 0; i < tile.rows; ++i) {
      for (size_t b = 0; b < blocks_; ++b)
        counters[place(i * blocks_ + b)] = static_cast<uint32_t>((tile.output[i] >> 3) + b);
      start_[i] = static_cast<uint32_t>(i * blocks_ * 16 + (tile.output[i] & 7) * 2);
    }
    for (size_t i = tile.rows; i < kRows; ++i) start_[i] = 0;
    for (size_t v = 0; v < used_; ++v) hoist(v, load<U64>(counters + 8 * v), e.step);
  }

  /// Makes the numbers of block p available.
  SOFTAMP_LANES void fill(uint32_t p) {
    // Words of round 1 and 2 that depend on p alone.
    const uint64_t known = kMultiplier1 * operation_;
    const uint32_t w0 = static_cast<uint32_t>(known >> 32) ^ p ^ static_cast<uint32_t>(key0_[0]);
    const uint64_t product = kMultiplier0 * w0;
    const U64 high = splat<U64>(product >> 32), low = splat<U64>(static_cast<uint32_t>(product));
    size_t v = 0;
    if (used_ % 3 == 0)
      for (; v < used_; v += 3) group<3>(v, high, low);
    else
      for (; v < used_; v += 4) group<4>(v, high, low);
  }
  /// The numbers of vector f's outputs (Accumulators), 16 bits each.
  SOFTAMP_LANES const char* of_vector(size_t f) const {
    constexpr size_t kPerRow = kColumns / 16;
    return reinterpret_cast<const char*>(numbers_) + start_[f / kPerRow] + f % kPerRow * 32;
  }

 private:
  static constexpr uint64_t kMultiplier0 = 0xD2511F53u, kMultiplier1 = 0xCD9E8D57u;

  /// The lane of block n, such that the interleaving of `put` writes blocks in
  /// ascending order.
  static size_t place(size_t n) {
    constexpr size_t kLane[8] = {0, 2, 4, 6, 1, 3, 5, 7};
    return n / 8 * 8 + kLane[n % 8];
  }
  static SOFTAMP_LANES U64 high_halves(U64 x) { return (U64)_mm512_shuffle_epi32((__m512i)x, _MM_PERM_DDBB); }
  static SOFTAMP_LANES U64 exchanged(U64 x) { return (U64)_mm512_rol_epi64((__m512i)x, 32); }

  void hoist(size_t v, U64 counter, uint32_t step) {
    const uint64_t known = kMultiplier1 * operation_;
    const U64 m0 = splat<U64>(kMultiplier0), m1 = splat<U64>(kMultiplier1), low_half = splat<U64>(0xFFFFFFFFu);
    const U64 first = multiply_low_halves(counter, m0);
    const U64 w2 = (first >> 32) ^ splat<U64>(step ^ key1_[0]);
    const U64 second = multiply_low_halves(w2, m1);
    const U64 w0 = (second >> 32) ^ splat<U64>(static_cast<uint32_t>(known) ^ key0_[1]);
    const U64 third = multiply_low_halves(w0, m0);
    into_w2_[v] = (first & low_half) ^ splat<U64>(key1_[1]);
    into_w0_[v] = (second & low_half) ^ splat<U64>(key0_[2]);
    into_next_w2_[v] = (third >> 32) ^ splat<U64>(key1_[2]);
    next_w3_[v] = third;
  }

  template <int kCount>
  SOFTAMP_LANES void group(size_t first, U64 high, U64 low) {
    const U64 m0 = splat<U64>(kMultiplier0), m1 = splat<U64>(kMultiplier1);
    U64 w0[kCount], w1[kCount], w2[kCount], w3[kCount];
#pragma GCC unroll 4
    for (int i = 0; i < kCount; ++i) {
      const size_t v = first + static_cast<size_t>(i);
      const U64 product = multiply_low_halves(into_w2_[v] ^ high, m1);
      w0[i] = high_halves(product) ^ into_w0_[v];
      w1[i] = product;
      w2[i] = into_next_w2_[v] ^ low;
      w3[i] = next_w3_[v];
    }
    const auto round = [&](int n) {
      const U64 key0 = splat<U64>(key0_[n]), key1 = splat<U64>(key1_[n]);
#pragma GCC unroll 4
      for (int i = 0; i < kCount; ++i) {
        const U64 product0 = multiply_low_halves(w0[i], m0);
        const U64 product1 = multiply_low_halves(w2[i], m1);
        w0[i] = high_halves(product1) ^ w1[i] ^ key0;
        w2[i] = high_halves(product0) ^ w3[i] ^ key1;
        w1[i] = product1;
        w3[i] = product0;
      }
    };
#pragma GCC unroll 8
    for (int n = 3; n < 6; ++n) round(n);
    if (rounds_ > 7)
#pragma GCC unroll 8
      for (int n = 6; n < 9; ++n) round(n);
    const U64 low_half = splat<U64>(0xFFFFFFFFu), kept = splat<U64>(mask_);
    const U64 key0 = splat<U64>(key0_[rounds_ - 1]), key1 = splat<U64>(key1_[rounds_ - 1]);
#pragma GCC unroll 4
    for (int i = 0; i < kCount; ++i) {
      const U64 product0 = multiply_low_halves(w0[i], m0);
      const U64 product1 = multiply_low_halves(w2[i], m1);
      const U64 a = (exchanged(product1) ^ ((w1[i] & low_half) ^ key0)) & kept;
      const U64 b = (exchanged(product0) ^ ((w3[i] & low_half) ^ key1)) & kept;
      uint32_t* const out = numbers_ + (first + static_cast<size_t>(i)) * 32;
      store(out, _mm512_unpacklo_epi64((__m512i)a, (__m512i)b));
      store(out + 16, _mm512_unpackhi_epi64((__m512i)a, (__m512i)b));
    }
  }

  uint32_t operation_;
  int rounds_;
  size_t blocks_, used_;
  uint64_t mask_;
  uint64_t key0_[10] = {}, key1_[10] = {};
  uint32_t start_[kRows];
  U64 into_w2_[kVectors], into_w0_[kVectors], into_next_w2_[kVectors], next_w3_[kVectors];
  alignas(64) uint32_t numbers_[kVectors * 32 + 16];
};

}  // namespace
}  // namespace softamp::emu
