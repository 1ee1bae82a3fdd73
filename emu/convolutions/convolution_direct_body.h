// A direct tile's chains, in vectors of the unit's instruction set.
#pragma once

#include "emu/convolutions/convolution_direct.h"
#include "emu/products/product_random_body.h"
#if defined(__AVX512F__)
#include "emu/products/product_range_avx512_body.h"
#else
#include "emu/products/product_range_avx2_body.h"
#endif
#include "emu/products/product_ways.h"
#include "emu/simd.h"

namespace softamp::emu {
namespace {

#if defined(__AVX512F__)
using Lanes = __m512;
SOFTAMP_LANES Lanes lanes_at(const float* p) { return _mm512_loadu_ps(p); }
SOFTAMP_LANES Lanes in_all_lanes(float x) { return _mm512_set1_ps(x); }
SOFTAMP_LANES Lanes fused(Lanes a, Lanes b, Lanes c) { return _mm512_fmadd_ps(a, b, c); }
SOFTAMP_LANES Lanes rounded_to_halves(Lanes x) {
  return _mm512_cvtph_ps(_mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
#else
using Lanes = __m256;
SOFTAMP_LANES Lanes lanes_at(const float* p) { return _mm256_loadu_ps(p); }
SOFTAMP_LANES Lanes in_all_lanes(float x) { return _mm256_set1_ps(x); }
SOFTAMP_LANES Lanes fused(Lanes a, Lanes b, Lanes c) { return _mm256_fmadd_ps(a, b, c); }
SOFTAMP_LANES Lanes rounded_to_halves(Lanes x) {
  return _mm256_cvtph_ps(_mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
}
#endif
constexpr size_t kLanes = sizeof(Lanes) / 4;

/// Whether all of the floats, a multiple of the lanes, are finite.
template <size_t kFloats>
bool all_finite(const float* values) {
  U32 special = {};
  for (size_t i = 0; i < kFloats; i += kLanes) special |= (U32)((load<U32>(values + i) & 0x7F800000u) == 0x7F800000u);
  return !any(special);
}

/// kRows rows from each of kParts places, kVectors vectors of columns, in registers.
template <size_t kRows, size_t kParts, size_t kVectors>
struct Chains {
  static constexpr size_t kAll = kRows * kParts, kColumns = kLanes * kVectors;
  Lanes c[kAll][kVectors];

#define SOFTAMP_ALL_CHAINS                                   \
  _Pragma("GCC unroll 16") for (size_t i = 0; i < kAll; ++i) \
      _Pragma("GCC unroll 2") for (size_t v = 0; v < kVectors; ++v)

  SOFTAMP_LANES void load_from(const float* acc) {
    SOFTAMP_ALL_CHAINS c[i][v] = lanes_at(acc + i * kColumns + kLanes * v);
  }
  SOFTAMP_LANES void store_to(float* acc) const { SOFTAMP_ALL_CHAINS store(acc + i * kColumns + kLanes * v, c[i][v]); }
  SOFTAMP_LANES void step(const float* first, const float* second, const float* b) {
    Lanes x[kVectors];
#pragma GCC unroll 2
    for (size_t v = 0; v < kVectors; ++v) x[v] = lanes_at(b + kLanes * v);
#pragma GCC unroll 16
    for (size_t i = 0; i < kAll; ++i) {
      const Lanes a = in_all_lanes(i < kRows ? first[i] : second[i - kRows]);
#pragma GCC unroll 2
      for (size_t v = 0; v < kVectors; ++v) c[i][v] = fused(a, x[v], c[i][v]);
    }
  }
  /// `length` products (>= 1), and on to the next ones.
  SOFTAMP_LANES void chain(DirectOperands& next, size_t length) {
    const int64_t *a_offsets = next.a_offsets, *b_offsets = next.b_offsets, *const end = a_offsets + length;
    do {
      const float* p = next.a[0] + *a_offsets;
      const float* q = next.a[kParts - 1] + *a_offsets++;
      // One register: with two in an address, a fused multiply-add takes an operation more to issue.
      asm("" : "+r"(p), "+r"(q));
      step(p, q, next.b + *b_offsets++);
    } while (a_offsets != end);
    next.a_offsets = a_offsets, next.b_offsets = b_offsets;
  }
  /// Stores the tile if all of it is finite.
  SOFTAMP_LANES bool store_finite(float* acc) const {
    alignas(64) float values[kAll * kColumns];
    store_to(values);
    if (!all_finite<kAll * kColumns>(values)) return false;
    store_to(acc);
    return true;
  }
  SOFTAMP_LANES void round() { SOFTAMP_ALL_CHAINS c[i][v] = rounded_to_halves(c[i][v]); }
};

/// DirectTile::multiply.
template <size_t kRows, size_t kParts, size_t kVectors>
bool multiply(const DirectOperands& operands, const Segment* segments, size_t count, float* acc) {
  using Tile = Chains<kRows, kParts, kVectors>;
  Tile c;
  c.load_from(acc);
  DirectOperands next = operands;
  bool rounds = false;
  for (size_t s = 0; s < count; ++s) {
    c.chain(next, segments[s].length);
    if (!segments[s].rounds) continue;
    rounds = true;
    c.round();
  }
  if (!rounds) {
    c.store_to(acc);
    return true;
  }
  // An overflow has become an infinity, and nothing that begins with one ends finite.
  return c.store_finite(acc);
}

#if defined(__AVX512F__)
template <size_t kRows, size_t kParts, size_t kVectors, bool kShifted, class Numbers>
[[gnu::noinline]] bool carry_blocks(const ProductPlan& plan, const DirectOperands& operands, const ProductTile& tile,
                                    Numbers& numbers, float* acc) {
  using Tile = Chains<kRows, kParts, kVectors>;
  constexpr size_t kCount = Tile::kAll * kVectors;
  Tile c;
  c.load_from(acc);
  DirectOperands next = operands;
  CarryPairs<kShifted> pairs(plan.half.random_bits);
  for (size_t s = 0; s < tile.segment_count; ++s) {
    const Segment segment = tile.segments[s];
    if (segment.rounds) numbers.draw(segment.number);
    c.chain(next, segment.length);
    if (!segment.rounds) continue;
    numbers.turn();
#pragma GCC unroll 12
    for (size_t f = 0; f + 1 < kCount; f += 2) {
      const size_t g = f + 1;
      pairs.round(c.c[f / kVectors][f % kVectors], numbers.of_vector(f), c.c[g / kVectors][g % kVectors],
                  numbers.of_vector(g));
    }
    if constexpr (kCount % 2 != 0) {
      Lanes& last = c.c[kRows * kParts - 1][kVectors - 1];
      Lanes same = last;
      pairs.round(last, numbers.of_vector(kCount - 1), same, numbers.of_vector(kCount - 1));
    }
  }
  return pairs.good() && c.store_finite(acc);
}

/// DirectTile::carry.
template <size_t kRows, size_t kParts, size_t kVectors>
bool carry(const ProductPlan& plan, const kernel::Environment& environment, const DirectOperands& operands,
           const ProductTile& tile, float* acc) {
  constexpr size_t kAll = kRows * kParts, kColumns = kLanes * kVectors;
  TileNumbers<kAll, kColumns> numbers(plan.half.random_bits, environment, 0, tile);
  occupy_padding(tile, kAll, kColumns, acc);
  const bool shifted = plan.half.random_bits != kDroppedBits;
  return (shifted ? carry_blocks<kRows, kParts, kVectors, true, TileNumbers<kAll, kColumns>>
                  : carry_blocks<kRows, kParts, kVectors, false, TileNumbers<kAll, kColumns>>)(plan, operands, tile,
                                                                                               numbers, acc);
}
#else
template <size_t kRows, size_t kParts, size_t kVectors, int kRelation, class Numbers>
[[gnu::noinline]] bool carry_blocks(const ProductPlan& plan, const DirectOperands& operands, const ProductTile& tile,
                                    Numbers& numbers, float* acc) {
  using Tile = Chains<kRows, kParts, kVectors>;
  constexpr size_t kCount = Tile::kAll * kVectors, kAtOnce = 4;
  alignas(32) float values[kCount * kLanes];
  Tile c;
  c.load_from(acc);
  c.store_to(values);
  DirectOperands next = operands;
  const CarryIntoNormal<kRelation> normal(plan.half.random_bits);
  bool good = true;
  for (size_t s = 0; s < tile.segment_count; ++s) {
    const Segment segment = tile.segments[s];
    // The numbers first: the chain runs while they are made.
    if (segment.rounds) numbers.draw(segment.number);
    c.load_from(values);
    c.chain(next, segment.length);
    c.store_to(values);
    if (!segment.rounds) continue;
    numbers.turn();
    const auto value = [&](size_t f) { return _mm256_load_ps(values + kLanes * f); };
#pragma GCC unroll 3
    for (size_t f = 0; f + kAtOnce <= kCount; f += kAtOnce)
      if (!round_normal<kAtOnce, false>(normal, numbers, f, value, values)) [[unlikely]]
        good &= round_finite<kAtOnce>(plan.half.random_bits, normal, numbers, f, values);
    constexpr size_t kRest = kCount % kAtOnce;
    if constexpr (kRest != 0)
      if (!round_normal<kRest, false>(normal, numbers, kCount - kRest, value, values)) [[unlikely]]
        good &= round_finite<kRest>(plan.half.random_bits, normal, numbers, kCount - kRest, values);
  }
  if (!good) return false;
  c.load_from(values);
  return c.store_finite(acc);
}

/// DirectTile::carry.
template <size_t kRows, size_t kParts, size_t kVectors>
bool carry(const ProductPlan& plan, const kernel::Environment& environment, const DirectOperands& operands,
           const ProductTile& tile, float* acc) {
  constexpr size_t kAll = kRows * kParts, kColumns = kLanes * kVectors;
  using Numbers = TileNumbers<kAll, kColumns>;
  const int bits = plan.half.random_bits;
  Numbers numbers(bits, environment, 0, tile);
  occupy_padding(tile, kAll, kColumns, acc);
  const auto blocks = bits == kDroppedBits  ? carry_blocks<kRows, kParts, kVectors, 0, Numbers>
                      : bits < kDroppedBits ? carry_blocks<kRows, kParts, kVectors, -1, Numbers>
                                            : carry_blocks<kRows, kParts, kVectors, 1, Numbers>;
  return blocks(plan, operands, tile, numbers, acc);
}
#endif

/// DirectTile::step.
template <size_t kVectors>
void step(const float* a, uint32_t rows, const float* b, float* acc) {
  for (; rows; rows &= rows - 1) {
    const auto i = static_cast<size_t>(__builtin_ctz(rows));
    for (size_t v = 0; v < kVectors; ++v) {
      float* const c = acc + (i * kVectors + v) * kLanes;
      store(c, fused(in_all_lanes(a[i]), lanes_at(b + kLanes * v), lanes_at(c)));
    }
  }
}

/// `result`: null where rounding results goes the general way.
template <size_t kRows, size_t kParts, size_t kVectors>
DirectTile tile_of(const ProductKernels& of, ResultKernel result) {
  constexpr size_t kAll = kRows * kParts, kColumns = kLanes * kVectors;
  static_assert(kAll <= kMostRows && padded_tile(kAll, kColumns) <= kMostTile);
  DirectTile t{kRows, kParts, of, multiply<kRows, kParts, kVectors>, carry<kRows, kParts, kVectors>, step<kVectors>};
  t.kernels.mr = kAll;
  t.kernels.nr = kColumns;
  t.kernels.finite = all_finite<padded_tile(kAll, kColumns)>;
  t.kernels.slender = nullptr;
  t.kernels.result = result;
  t.kernels.chain = nullptr;
  t.kernels.each = nullptr;
  t.kernels.native = t.kernels.nearest_each = t.kernels.carry_each = t.kernels.nearest = t.kernels.carry = nullptr;
  return t;
}

}  // namespace
}  // namespace softamp::emu
