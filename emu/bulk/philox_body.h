// Random words by the vector: Philox4x32 for consecutive draw blocks, written in the order of their lanes (N70 to N72).
#pragma once

#include "emu/bulk/plan.h"
#include "emu/simd.h"

namespace softamp::emu {
namespace {

/// The high halves in place of the low ones; what is above them means nothing. By a shuffle: shifts share a port with
/// the multiplications.
SOFTAMP_LANES U64 high_halves(U64 x) {
#if defined(__AVX512F__)
  return (U64)_mm512_shuffle_epi32((__m512i)x, _MM_PERM_DDBB);
#elif defined(__AVX2__)
  return (U64)_mm256_shuffle_epi32((__m256i)x, 0xF5);
#else
  return x >> 32;
#endif
}
SOFTAMP_LANES U64 exchanged(U64 x) {
#if defined(__AVX512F__)
  return (U64)_mm512_rol_epi64((__m512i)x, 32);
#elif defined(__AVX2__)
  return (U64)_mm256_shuffle_epi32((__m256i)x, 0xB1);
#elif defined(SOFTAMP_NEON)
  return (U64)vrev64q_u32((uint32x4_t)x);
#else
  return (x >> 32) | (x << 32);
#endif
}

/// A round of Philox4x32. Words are low halves of lanes; keys may be numbers.
template <class Key>
SOFTAMP_LANES void philox_round(U64& w0, U64& w1, U64& w2, U64& w3, U64 multiplier0, U64 multiplier1, const Key& key0,
                                const Key& key1) {
  const U64 product0 = multiply_low_halves(w0, multiplier0), product1 = multiply_low_halves(w2, multiplier1);
  w0 = high_halves(product1) ^ w1 ^ key0;
  w2 = high_halves(product0) ^ w3 ^ key1;
  w1 = product1;
  w3 = product0;
}

/// Philox for the blocks of one (seed, step, operation), kBlocks at a time.
///
/// State words are the low halves of 64-bit lanes, so that a product needs no blending: its high word needs one shift,
/// and its low word is in place. In the first two rounds the counter's constant words, which are three, leave two
/// multiplications of four to do.
class PhiloxBlocks {
 public:
  static constexpr int kLanes = sizeof(U64) / 8;
  static constexpr int kVectors = kLanes >= 8 ? 4 : 2;  ///< independent chains: what the registers hold
  static constexpr int kBlocks = kLanes * kVectors;
  static constexpr int kRounds = 10, kFewRounds = 7;  ///< what RandomPlan can ask for

  explicit PhiloxBlocks(const RandomPlan& plan)
      : operation_(plan.source.replica << 24 | plan.operation), step_(plan.step), rounds_(plan.source.rounds) {
    PhiloxKey key = plan.source.key();
    for (int i = 0; i < rounds_; ++i) {
      key0_[i] = key.word[0];
      key1_[i] = key.word[1];
      key.word[0] += 0x9E3779B9u;
      key.word[1] += 0xBB67AE85u;
    }
  }

  /// Writes the words of blocks first .. first + kBlocks - 1, sixteen bytes a block, keeping the bits of `mask`.
  SOFTAMP_LANES void write(uint64_t first, uint64_t mask, uint32_t* out) const {
    // A block index's high word is taken from the first: a run that crosses a multiple of 2^32 goes lane by lane.
    if ((first >> 32) != ((first + kBlocks - 1) >> 32)) return write_crossing(first, mask, out);
    constexpr uint64_t kMultiplier0 = 0xD2511F53u, kMultiplier1 = 0xCD9E8D57u;
    const U64 multiplier0 = splat<U64>(kMultiplier0), multiplier1 = splat<U64>(kMultiplier1);

    // Round 1: of c2 and c3 everything is known.
    const uint64_t known = kMultiplier1 * operation_;
    const uint32_t c0 =
        static_cast<uint32_t>(known >> 32) ^ static_cast<uint32_t>(first >> 32) ^ static_cast<uint32_t>(key0_[0]);
    const uint32_t c1 = static_cast<uint32_t>(known);
    const uint64_t known2 = kMultiplier0 * c0;  // round 2's
    U64 w0[kVectors], w1[kVectors], w2[kVectors], w3[kVectors];
    for (int v = 0; v < kVectors; ++v) {
      const U64 product = multiply_low_halves(counters(first, v), multiplier0);
      w2[v] = (product >> 32) ^ splat<U64>(step_ ^ key1_[0]);
      w3[v] = product;
    }
    for (int v = 0; v < kVectors; ++v) {
      const U64 product = multiply_low_halves(w2[v], multiplier1);
      w0[v] = (product >> 32) ^ splat<U64>(c1 ^ key0_[1]);
      w1[v] = product;
      w2[v] = w3[v] ^ splat<U64>(static_cast<uint32_t>(known2 >> 32) ^ key1_[1]);
      w3[v] = splat<U64>(static_cast<uint32_t>(known2));
    }
    const auto round = [&](int n) {
      const U64 key0 = splat<U64>(key0_[n]), key1 = splat<U64>(key1_[n]);
      for (int v = 0; v < kVectors; ++v) philox_round(w0[v], w1[v], w2[v], w3[v], multiplier0, multiplier1, key0, key1);
    };
    for (int n = 2; n < kFewRounds - 1; ++n) round(n);
    if (rounds_ > kFewRounds)
      for (int n = kFewRounds - 1; n < kRounds - 1; ++n) round(n);

    // The last round gives whole 64-bit words: a product with its halves exchanged holds both of its.
    const U64 low_half = splat<U64>(0xFFFFFFFFu), kept = splat<U64>(mask);
    const U64 key0 = splat<U64>(key0_[rounds_ - 1]), key1 = splat<U64>(key1_[rounds_ - 1]);
    for (int v = 0; v < kVectors; ++v) {
      const U64 product0 = multiply_low_halves(w0[v], multiplier0);
      const U64 product1 = multiply_low_halves(w2[v], multiplier1);
      put((exchanged(product1) ^ ((w1[v] & low_half) ^ key0)) & kept,
          (exchanged(product0) ^ ((w3[v] & low_half) ^ key1)) & kept, out + v * kLanes * 4);
    }
  }

 private:
  // Lane order inside a vector: such that the interleaving of `put`, which stays within 128-bit lanes, writes the
  // blocks in ascending order.
#if defined(__AVX512F__)
  static SOFTAMP_LANES U64 offsets() { return U64{0, 4, 1, 5, 2, 6, 3, 7}; }
#elif defined(__AVX2__)
  static SOFTAMP_LANES U64 offsets() { return U64{0, 2, 1, 3}; }
#else
  static SOFTAMP_LANES U64 offsets() { return U64{0, 1}; }
#endif
  static SOFTAMP_LANES U64 counters(uint64_t first, int v) {
    return offsets() + splat<U64>(first + static_cast<uint64_t>(v * kLanes));
  }

  static SOFTAMP_LANES void put(U64 low, U64 high, uint32_t* out) {
#if defined(__AVX512F__)
    store(out, _mm512_unpacklo_epi64((__m512i)low, (__m512i)high));
    store(out + 16, _mm512_unpackhi_epi64((__m512i)low, (__m512i)high));
#elif defined(__AVX2__)
    store(out, _mm256_unpacklo_epi64((__m256i)low, (__m256i)high));
    store(out + 8, _mm256_unpackhi_epi64((__m256i)low, (__m256i)high));
#else
    store(out, U64{low[0], high[0]});
    store(out + 4, U64{low[1], high[1]});
#endif
  }

  void write_crossing(uint64_t first, uint64_t mask, uint32_t* out) const {
    for (uint64_t b = 0; b < kBlocks; ++b) {
      const uint64_t block = first + b;
      uint32_t c[4] = {static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32), operation_, step_};
      for (int round = 0; round < rounds_; ++round) {
        const uint64_t product0 = uint64_t{0xD2511F53u} * c[0], product1 = uint64_t{0xCD9E8D57u} * c[2];
        c[0] = static_cast<uint32_t>(product1 >> 32) ^ c[1] ^ static_cast<uint32_t>(key0_[round]);
        c[2] = static_cast<uint32_t>(product0 >> 32) ^ c[3] ^ static_cast<uint32_t>(key1_[round]);
        c[1] = static_cast<uint32_t>(product1);
        c[3] = static_cast<uint32_t>(product0);
      }
      for (int i = 0; i < 4; ++i) out[4 * b + static_cast<uint64_t>(i)] = c[i] & static_cast<uint32_t>(mask);
    }
  }

  uint32_t operation_, step_;
  int rounds_;
  uint64_t key0_[kRounds] = {}, key1_[kRounds] = {};  // 64-bit, so that they load as they are used
};

/// The random numbers R < 2^bits of a slice, a strip of 256 elements at a time, in a buffer of the first-level cache.
/// kWide: 32-bit lanes (more than 16 random bits), else 16-bit lanes.
template <bool kWide>
class RandomStrip {
 public:
  static constexpr size_t kElements = 256;
  static constexpr size_t kPerBlock = kWide ? 4 : 8;
  static constexpr size_t kStripBlocks = kElements / kPerBlock;
  static_assert(kStripBlocks % PhiloxBlocks::kBlocks == 0);

  RandomStrip(const RandomPlan& plan, const Slice& slice, int bits)
      : philox_(plan), slice_(slice), mask_(((uint64_t{1} << bits) - 1) * (kWide ? 0x100000001u : 0x1000100010001u)) {}

  /// Makes the numbers of elements [begin, begin + count), count <= kElements, available. Not inlined, so that a unit
  /// has it once: a strip is long enough.
  [[gnu::noinline]] void fill(size_t begin, size_t count) {
    if (slice_.words) {
      for (size_t i = 0; i < count; ++i) put_word(i, slice_.words[begin + i] & static_cast<uint32_t>(mask_));
      return;
    }
    const uint64_t first = (slice_.index + begin) / kPerBlock;
    for (size_t b = 0; b * kPerBlock < count; b += PhiloxBlocks::kBlocks)
      philox_.write(first + b, mask_, buffer_ + 4 * b);
  }
  /// Where the number of element begin + i lies.
  const void* at(size_t i) const { return reinterpret_cast<const char*>(buffer_) + i * (kWide ? 4 : 2); }

 private:
  SOFTAMP_LANES void put_word(size_t i, uint32_t word) {
    if constexpr (kWide) {
      buffer_[i] = word;
    } else {
      const uint16_t low = static_cast<uint16_t>(word);
      __builtin_memcpy(reinterpret_cast<char*>(buffer_) + 2 * i, &low, 2);
    }
  }

  PhiloxBlocks philox_;
  const Slice& slice_;
  uint64_t mask_;
  alignas(64) uint32_t buffer_[kStripBlocks * 4];
};

}  // namespace
}  // namespace softamp::emu
