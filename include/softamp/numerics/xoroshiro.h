// xoroshiro128aox, the random generator of an IPU worker: registers, seeding, jumps.
//
// Generator: Fox, Knowles et al., arXiv 2203.04058. Registers, seed register and worker seeding: N74 to N76; that
// s0 is the pair $PRNG_0 is inferred. The generator passes BigCrush; the Hamming weights of its words are slightly
// dependent.
#pragma once

#include <cassert>

#include "softamp/numerics/semantics.h"

namespace softamp {

/// The four PRNG registers of a worker: word[0..3] = $PRNG_0_0, $PRNG_0_1, $PRNG_1_0, $PRNG_1_1.
struct PrngRegisters {
  uint32_t word[4];

  constexpr bool operator==(const PrngRegisters&) const = default;
};

namespace detail {

/// a * x in GF(2)[x] modulo the characteristic polynomial of xoroshiro128's state update (constants 55, 14, 36), which
/// is x^128 + the constant below. Bit i of a polynomial is the coefficient of x^i.
SOFTAMP_INLINE uint128_t times_x(uint128_t a) {
  constexpr uint128_t kTail = uint128_t{0x00653CED7F29F88Au} << 64 | 0x5FD66762F0E1C001u;
  return a << 1 ^ (a >> 127 ? kTail : 0);
}

/// x^n in the same ring, by squaring from the top bit of n downwards.
constexpr SOFTAMP_HD uint128_t power_of_x(uint128_t n) {
  uint128_t power = 1;
  for (int bit = 127; bit >= 0; --bit) {
    if (power != 1) {
      uint128_t square = 0;
      for (int i = 127; i >= 0; --i) {
        square = times_x(square);
        if (power >> i & 1) square ^= power;
      }
      power = square;
    }
    if (n >> bit & 1) power = times_x(power);
  }
  return power;
}

}  // namespace detail

/// xoroshiro128aox: 64 random bits per draw from 128 bits of state, period 2^128 - 1; a
/// std::uniform_random_bit_generator. State 0 is a fixed point that yields only zeros; no seeding below leads there.
// implements: N74, N383
struct Xoroshiro128aox {
  using result_type = uint64_t;
  // implements: N76
  static constexpr int kWarmUpDraws = 15;
  static constexpr uint32_t kWorkers = 6;

  uint64_t s0 = 0xFFFFFFFF00000000u;  ///< $PRNG_0 = {0_1 : 0_0} [=as after $PRNG_SEED = 0]
  uint64_t s1 = 0xFFFFE00000001FFFu;  ///< $PRNG_1 = {1_1 : 1_0}

  constexpr bool operator==(const Xoroshiro128aox&) const = default;

  static SOFTAMP_INLINE Xoroshiro128aox from_registers(const PrngRegisters& r) {
    return {uint64_t{r.word[1]} << 32 | r.word[0], uint64_t{r.word[3]} << 32 | r.word[2]};
  }
  SOFTAMP_INLINE PrngRegisters registers() const {
    return {{static_cast<uint32_t>(s0), static_cast<uint32_t>(s0 >> 32), static_cast<uint32_t>(s1),
             static_cast<uint32_t>(s1 >> 32)}};
  }

  /// The state after `seed` is written to $PRNG_SEED.
  // implements: N75
  static SOFTAMP_INLINE Xoroshiro128aox from_seed_register(uint32_t seed) {
    const uint32_t inverse = ~seed;
    return from_registers({{seed, inverse, seed << 13 | inverse >> 19, inverse << 13 | seed >> 19}});
  }

  /// The state of a worker after poprand's setSeed, its warm-up draws thrown away.
  ///
  /// master_seed    masterSeed[0] in the low word, masterSeed[1] in the high word
  /// seed_modifier  setSeed's argument of that name
  /// tile           (0 .. 2^28 - 1)
  /// worker         (0..5)
  // implements: N76
  static SOFTAMP_INLINE Xoroshiro128aox for_worker(uint64_t master_seed, uint32_t seed_modifier, uint32_t tile,
                                                   uint32_t worker) {
    assert(tile < 1u << 28);
    assert(worker < kWorkers);
    Xoroshiro128aox g = from_registers({{static_cast<uint32_t>(master_seed), static_cast<uint32_t>(master_seed >> 32),
                                         (tile << 4 ^ 0xAAAAAAA0u) | worker, seed_modifier ^ 0x55555555u}});
    g.discard(kWarmUpDraws);
    return g;
  }

  static SOFTAMP_INLINE result_type min() { return 0; }
  static SOFTAMP_INLINE result_type max() { return ~result_type{0}; }

  /// The next 64 bits.
  SOFTAMP_INLINE uint64_t operator()() {
    const uint64_t both = s0 & s1;
    const uint64_t out = (s0 ^ s1) ^ (rotl(both, 1) | rotl(both, 2));
    step();
    return out;
  }
  SOFTAMP_INLINE uint64_t urand64() { return (*this)(); }
  /// One draw, of which `half` (low, high, exclusive or of both) [=low] is returned.
  SOFTAMP_INLINE uint32_t urand32(Urand32Half half = Urand32Half::kLow) {
    const uint64_t draw = (*this)();
    const uint32_t low = static_cast<uint32_t>(draw), high = static_cast<uint32_t>(draw >> 32);
    return half == Urand32Half::kLow ? low : half == Urand32Half::kHigh ? high : low ^ high;
  }

  /// Skips the next n draws: step by step if n is small, else by a jump.
  SOFTAMP_INLINE void discard(uint64_t n) {
    constexpr uint64_t kFew = 1u << 12;
    if (n > kFew) return jump(n);
    for (; n > 0; --n) step();
  }

  /// Skips the next n draws in time proportional to the bit length of n. The update is linear over GF(2): n updates are
  /// the polynomial x^n, reduced, of one update. Backwards by n (n > 0): `jump(2^128 - 1 - n)`.
  constexpr SOFTAMP_HD void jump(detail::uint128_t n) {
    const detail::uint128_t power = detail::power_of_x(n);
    uint64_t sum0 = 0, sum1 = 0;
    for (int i = 0; i < 128; ++i) {
      if (power >> i & 1) {
        sum0 ^= s0;
        sum1 ^= s1;
      }
      step();
    }
    s0 = sum0;
    s1 = sum1;
  }

 private:
  static SOFTAMP_INLINE uint64_t rotl(uint64_t x, int n) { return x << n | x >> (64 - n); }
  // implements: N74
  SOFTAMP_INLINE void step() {
    const uint64_t sx = s0 ^ s1;
    s0 = rotl(s0, 55) ^ sx ^ (sx << 14);
    s1 = rotl(sx, 36);
  }
};

}  // namespace softamp
