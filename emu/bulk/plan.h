// What one bulk call does, worked out once from format and semantics: data that the kernels of every instruction set
// read. No kernel looks at a policy again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "softamp/numerics/random.h"
#include "softamp/numerics/semantics.h"
#include "softamp/tensor/bulk.h"

namespace softamp::emu {

/// The element type of an array.
enum class Element : uint8_t { kU8, kU16, kU32, kF32, kF64 };

constexpr size_t size_of(Element e) {
  return e == Element::kU8 ? 1 : e == Element::kU16 ? 2 : e == Element::kF64 ? 8 : 4;
}

/// Codes of a format to fp32 or binary64, exactly.
struct WidenPlan {
  bool vectorised;  ///< false: this format uses the scalar reference
  uint32_t magnitude_mask;
  uint32_t sign_shift;            ///< left shift that takes a code's sign to bit 31
  uint32_t mantissa_shift;        ///< left shift that takes a code's mantissa to fp32's
  float scale;                    ///< 2^(fp32's bias - the format's), applied to the shifted code read as fp32
  uint32_t greatest;              ///< magnitudes above are infinity or NaN
  uint32_t infinity;              ///< infinity's magnitude; ~0 where there is none
  bool sign_alone_is_nan;         ///< the code of -0 is the NaN
  bool propagate_nan;             ///< a NaN keeps sign and payload
  uint32_t quiet_bit;             ///< 0 where every NaN is quiet
  uint32_t infinity32[2], nan32;  ///< results, infinity by sign
  uint64_t infinity64[2], nan64;
  uint32_t flush_below;                                 ///< magnitudes below, zero excepted, become zeros
  uint32_t flush_sign;                                  ///< and keep these bits of the sign (0 or all)
  uint8_t on_infinity, on_quiet_nan, on_signaling_nan;  ///< flags
};

/// fp32 or binary64 values to codes of a format. Everything that depends on the mode is in the thresholds:
/// a magnitude goes up iff its rest, a fraction of 2^64 (of 2^32 in 32-bit lanes), exceeds the lane's threshold.
struct RoundPlan {
  FloatFormat format;
  int precision;
  int min_exponent;
  uint32_t max_finite, min_normal;
  uint32_t sign_shift;     ///< right shift that takes bit 31 to the code's sign
  bool has_negative_zero;  ///< both the format and the policy have it

  bool usual;  ///< RoundingPolicy::usual: the kernels on halves take no other
  bool stochastic;
  /// Deterministic modes: threshold[sign] - (kept & parity).
  uint64_t threshold[2];
  uint64_t parity;
  bool nearest_even;  ///< the mode; round to odd has the parity, too
  /// Stochastic: start - ((2R + half) << (63 - random_bits)) + (R & 1) * odd_step  (N12, N13 solved for the rest).
  int random_bits;
  uint64_t half, start, odd_step;
  StochasticVariant variant;
  bool with_source;  ///< R stays with the source in the subnormal range: RandomAlignment::kAsIfNormal
  bool at_least;     ///< up iff the rest is at least 2R << (63 - random_bits), 0 excepted: variant kAtLeast

  bool tiny_before;  ///< Tininess::kBeforeRounding

  uint32_t overflow[2], infinity[2], nan;  ///< result codes, by sign
  uint32_t nan_sign;                       ///< OR-ed to `nan` where the NaN is negative
  bool propagate_nan;
  uint32_t nan_head;                 ///< infinity and quiet bit, under a propagated payload
  uint32_t overflow_above;           ///< rounded magnitudes above overflow (~0: decided by overflow_from alone)
  uint32_t overflow_from32;          ///< fp32 magnitudes from here on overflow, infinite or NaN included
  uint64_t overflow_from64;          ///< the same of binary64
  uint32_t flush_below, flush_sign;  ///< results
  uint32_t operand_flush_below, operand_flush_sign;  ///< fp32 operands

  uint8_t on_inexact, on_underflow, on_overflow, on_infinity, on_quiet_nan, on_signaling_nan;  ///< flags

  WidenPlan values;  ///< for outputs that hold values
  bool lanes32;      ///< fp32 sources may use 32-bit lanes
};

struct RandomPlan {
  RandomBits source;
  uint32_t operation, step;
  uint64_t first_index;
  const uint32_t* words;                  ///< one for each element; with `slice` for each of its groups of lanes
  std::optional<RandomSlice> slice = {};  ///< RandomSource::slice, of a stochastic policy
};

enum class Operation : uint8_t { kAdd, kSub, kMul, kDiv, kFma };

/// fp16 arithmetic: the exact value of the operation, or one that rounds to the same result, then `round`.
struct ArithmeticPlan {
  Operation operation;
  RoundPlan round;
  Semantics semantics;
  bool zero_sum_negative;  ///< unlike zeros and exact cancellation give -0
  bool by_way_of_fp32;     ///< the quotient is rounded to fp32, to nearest even, first
  bool vectorised;
};

WidenPlan plan_widen(const FloatFormat& from, Element to, const Semantics& s);
RoundPlan plan_round(Element from, const FloatFormat& to, Element out, const Semantics& s);
ArithmeticPlan plan_arithmetic(Operation operation, const Semantics& s);

/// One kernel call: `count` elements, a multiple of kGroup; `index`, of the first, is a multiple of 8 where the
/// generator is used.
struct Slice {
  const void* in[3];
  void* out;
  const uint32_t* words;
  uint64_t index;
  size_t count;
  bool stream;  ///< results bypass the caches; `out` is then at the start of a cache line
};
constexpr size_t kGroup = 64;

}  // namespace softamp::emu
