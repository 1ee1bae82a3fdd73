// Bodies of the random operations: output i is a function of the 32-bit lane i of (seed, step, operation) (N200).
//
//   site 0 the lane itself, r = 32; never from the sequence of a tile
//   site 1   the rounding of the value to the output's dtype, by its policy
//
// uniform: fma(u, maxval - minval, minval) with u in [0, 1), so that the rounding may reach maxval. normal and
// truncated normal: fma(n, stddev, mean). All in fp32, to nearest; then rounded once.
#pragma once

#include "softamp/kernel/elementwise.h"
#include "softamp/numerics/math.h"

namespace softamp::kernel {

enum class RandomKind : uint8_t { kUniform, kNormal, kTruncatedNormal };

/// The random lane of output `index`.
// implements: N200
SOFTAMP_INLINE uint32_t random_lane(const Environment& e, uint64_t index) {
  return e.random.bits(e.step, e.operation, index, 32);
}

// implements: N200
SOFTAMP_MATH Rounded random_value(RandomKind kind, const FloatFormat& f, float factor, float addend,
                                  const Environment& e, uint64_t index) {
  using math::Float;
  const uint32_t lane = random_lane(e, index);
  Float x = 0.0f;
  switch (kind) {
    case RandomKind::kUniform: x = math::uniform_from_bits<Float>(lane); break;
    case RandomKind::kNormal: x = math::normal_from_bits<Float>(lane); break;
    case RandomKind::kTruncatedNormal: x = math::truncated_normal_from_bits<Float>(lane); break;
  }
  const Float value = fma(x, Float(factor), Float(addend));
  return finish32(f, value.value, Operands{}, false, e.semantics, e.draw(e.semantics.rounding(f), 1, index));
}

/// minval + floor(lane range / 2^32): each of the `range` values with a probability within 2^-32 of 1 / range.
// implements: N201
struct RandomInteger {
  int32_t minval = 0;
  uint32_t range = 1;
  SOFTAMP_INLINE uint32_t operator()(uint32_t lane) const {
    return static_cast<uint32_t>(minval) + static_cast<uint32_t>(uint64_t{lane} * range >> 32);
  }
};

/// Whether lane / 2^32 is below a probability: `true_lanes` = ceil(probability 2^32) of the lanes are, exactly.
// implements: N202
struct RandomTruth {
  uint64_t true_lanes = 0;
  SOFTAMP_INLINE uint32_t operator()(uint32_t lane) const { return lane < true_lanes; }
};

}  // namespace softamp::kernel
